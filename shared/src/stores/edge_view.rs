//! One of the two tables of edges, read from one end: of one user, the users at the other end.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::Select;

use super::dynamo::{Item, failed, number};
use crate::domain::UserId;
use crate::platform::Roost;
use crate::{Error, Result};

/// One page of ids, and whether more come behind it.
#[derive(Debug, Default)]
pub struct IdPage {
    pub ids: Vec<UserId>,
    pub more: bool,
}

#[derive(Clone)]
pub(super) struct EdgeView {
    pub(super) client: Client,
    pub(super) table: String,
    /// The attribute with the user whose edges are read: the partition key.
    pub(super) of: &'static str,
    /// The attribute with the user at the other end: the sort key.
    pub(super) other: &'static str,
}

impl EdgeView {
    pub(super) fn new(roost: &Roost, table: &str, of: &'static str, other: &'static str) -> Self {
        Self {
            client: roost.aws.dynamodb(),
            table: table.to_owned(),
            of,
            other,
        }
    }

    /// The users behind `after`, in the order of their ids.
    pub(super) async fn page(
        &self,
        of: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<IdPage> {
        let start = after.map(|after| {
            Item::from([
                (self.of.to_owned(), number(of.get())),
                (self.other.to_owned(), number(after.get())),
            ])
        });
        let query = self.query(of).set_exclusive_start_key(start);
        self.ids(query.limit(i32::try_from(limit).unwrap_or(i32::MAX)))
            .await
    }

    pub(super) async fn count(&self, of: UserId) -> Result<u64> {
        let (mut total, mut start) = (0, None);
        loop {
            let query = self
                .client
                .query()
                .table_name(&self.table)
                .key_condition_expression(format!("{} = :of", self.of))
                .expression_attribute_values(":of", number(of.get()))
                .select(Select::Count)
                .consistent_read(true)
                .set_exclusive_start_key(start);
            let answer = query.send().await.map_err(failed("Query"))?;
            total += u64::try_from(answer.count).unwrap_or_default();
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(total);
            }
        }
    }

    pub(super) fn query(&self, of: UserId) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(&self.table)
            .key_condition_expression(format!("{} = :of", self.of))
            .expression_attribute_values(":of", number(of.get()))
            .projection_expression(self.other)
            .consistent_read(true)
    }

    /// Sends a query and reads the ids at the other end.
    pub(super) async fn ids(&self, query: QueryFluentBuilder) -> Result<IdPage> {
        let answer = query.send().await.map_err(failed("Query"))?;
        let items = answer.items.unwrap_or_default().into_iter();
        let ids = items.map(|item| {
            let id = item.get(self.other).and_then(|id| id.as_n().ok());
            let id = id.map_or("", String::as_str).parse();
            id.map(UserId::new).map_err(Error::unreadable("an edge"))
        });
        Ok(IdPage {
            ids: ids.collect::<Result<_>>()?,
            more: answer.last_evaluated_key.is_some(),
        })
    }
}
