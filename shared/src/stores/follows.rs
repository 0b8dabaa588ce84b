//! Who follows whom: the tables `followers` and `following`, two views of the same edges.
//!
//! Both are written in one transaction, so they always mirror each other. `followers` has the stream.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{Delete, Put, Select, TransactWriteItem};
use serde::{Deserialize, Serialize};

use super::dynamo::{self, Item, failed, from_item, number, to_item};
use crate::Result;
use crate::domain::{FollowerRange, UserId};
use crate::runtime::aws::Aws;
use crate::runtime::config::Config;

const FOLLOWEE: &str = "followee_id";
const FOLLOWER: &str = "follower_id";

/// A transaction has at most 100 actions, and an edge takes two.
const EDGES_PER_TRANSACTION: usize = 50;

/// `follower` follows `followee`. The key of both tables, and of the stream's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edge {
    followee_id: u64,
    follower_id: u64,
}

impl Edge {
    pub const fn new(follower: UserId, followee: UserId) -> Self {
        Self {
            followee_id: followee.get(),
            follower_id: follower.get(),
        }
    }

    pub const fn followee(self) -> UserId {
        UserId::new(self.followee_id)
    }

    pub const fn follower(self) -> UserId {
        UserId::new(self.follower_id)
    }
}

/// One page of ids, and whether more come behind it.
#[derive(Debug)]
pub struct IdPage {
    pub ids: Vec<UserId>,
    pub more: bool,
}

#[derive(Clone)]
pub struct Follows {
    client: Client,
    followers: String,
    following: String,
}

impl Follows {
    pub fn new(aws: &Aws, config: &Config) -> Result<Self> {
        Ok(Self {
            client: aws.dynamodb(),
            followers: config.followers_table()?.to_owned(),
            following: config.following_table()?.to_owned(),
        })
    }

    /// Does nothing where the edge exists already.
    pub async fn follow(&self, edge: Edge) -> Result<()> {
        let item = to_item(&edge)?;
        self.write(|table| {
            let put = Put::builder()
                .table_name(table)
                .set_item(Some(item.clone()))
                .condition_expression("attribute_not_exists(followee_id)");
            Ok(TransactWriteItem::builder().put(put.build()?).build())
        })
        .await
    }

    /// Does nothing where there is no such edge.
    pub async fn unfollow(&self, edge: Edge) -> Result<()> {
        let key = to_item(&edge)?;
        self.write(|table| {
            let delete = Delete::builder()
                .table_name(table)
                .set_key(Some(key.clone()))
                .condition_expression("attribute_exists(followee_id)");
            Ok(TransactWriteItem::builder().delete(delete.build()?).build())
        })
        .await
    }

    /// The same write to both tables.
    async fn write(
        &self,
        write: impl Fn(&str) -> Result<TransactWriteItem, BuildError>,
    ) -> Result<()> {
        let writes = [write(&self.followers), write(&self.following)]
            .into_iter()
            .collect::<Result<_, _>>();
        let writes = writes.map_err(failed("TransactWriteItems"))?;
        dynamo::write_once(&self.client, writes, "writing a follow").await
    }

    /// Removes edges from both tables, some at a time, so that the tables mirror each other wherever this stops.
    pub async fn erase(&self, edges: &[Edge]) -> Result<()> {
        for edges in edges.chunks(EDGES_PER_TRANSACTION) {
            let mut writes = Vec::with_capacity(2 * edges.len());
            for edge in edges {
                for table in [&self.followers, &self.following] {
                    let delete = Delete::builder()
                        .table_name(table)
                        .set_key(Some(to_item(edge)?))
                        .build()
                        .map_err(failed("TransactWriteItems"))?;
                    writes.push(TransactWriteItem::builder().delete(delete).build());
                }
            }
            dynamo::write_once(&self.client, writes, "removing follows").await?;
        }
        Ok(())
    }

    pub async fn exists(&self, edge: Edge) -> Result<bool> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.following)
            .set_key(Some(to_item(&edge)?))
            .consistent_read(true)
            .send()
            .await;
        Ok(answer.map_err(failed("GetItem"))?.item.is_some())
    }

    pub async fn followers_page(
        &self,
        of: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<IdPage> {
        self.page(&self.followers, FOLLOWEE, of, FOLLOWER, after, limit)
            .await
    }

    pub async fn following_page(
        &self,
        of: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<IdPage> {
        self.page(&self.following, FOLLOWER, of, FOLLOWEE, after, limit)
            .await
    }

    /// Everybody this user follows.
    pub async fn following(&self, user: UserId) -> Result<Vec<UserId>> {
        const PAGE: usize = 1_000;
        let mut all = Vec::new();
        loop {
            let page = self.following_page(user, all.last().copied(), PAGE).await?;
            all.extend(page.ids);
            if !page.more {
                return Ok(all);
            }
        }
    }

    /// The author's largest follower id: where the fan-out's range ends.
    pub async fn last_follower(&self, author: UserId) -> Result<Option<UserId>> {
        let query = self
            .query(&self.followers, FOLLOWEE, author, FOLLOWER)
            .scan_index_forward(false)
            .limit(1);
        Ok(self.ids(query, FOLLOWER).await?.ids.pop())
    }

    /// The first followers of a range, in order of their ids.
    ///
    /// Consistent, because a follower who was there before the tweet and is not found here is never found again.
    pub async fn followers_in(
        &self,
        author: UserId,
        range: FollowerRange,
        limit: usize,
    ) -> Result<IdPage> {
        let query = self
            .client
            .query()
            .table_name(&self.followers)
            .key_condition_expression("followee_id = :of AND follower_id BETWEEN :first AND :last")
            .expression_attribute_values(":of", number(author.get()))
            .expression_attribute_values(":first", number(range.after().get() + 1))
            .expression_attribute_values(":last", number(range.to().get()))
            .projection_expression(FOLLOWER)
            .consistent_read(true)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        self.ids(query, FOLLOWER).await
    }

    /// How many edges there really are.
    pub async fn count_followers(&self, of: UserId) -> Result<u64> {
        self.count(&self.followers, FOLLOWEE, of).await
    }

    pub async fn count_following(&self, of: UserId) -> Result<u64> {
        self.count(&self.following, FOLLOWER, of).await
    }

    async fn count(&self, table: &str, of_name: &str, of: UserId) -> Result<u64> {
        let (mut total, mut start) = (0, None);
        loop {
            let query = self
                .client
                .query()
                .table_name(table)
                .key_condition_expression(format!("{of_name} = :of"))
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

    async fn page(
        &self,
        table: &str,
        of_name: &str,
        of: UserId,
        id_name: &str,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<IdPage> {
        let start = after.map(|after| {
            Item::from([
                (of_name.to_owned(), number(of.get())),
                (id_name.to_owned(), number(after.get())),
            ])
        });
        let query = self
            .query(table, of_name, of, id_name)
            .set_exclusive_start_key(start);
        self.ids(
            query.limit(i32::try_from(limit).unwrap_or(i32::MAX)),
            id_name,
        )
        .await
    }

    fn query(&self, table: &str, of_name: &str, of: UserId, id_name: &str) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(table)
            .key_condition_expression(format!("{of_name} = :of"))
            .expression_attribute_values(":of", number(of.get()))
            .projection_expression(id_name)
            .consistent_read(true)
    }

    async fn ids(&self, query: QueryFluentBuilder, id_name: &str) -> Result<IdPage> {
        let answer = query.send().await.map_err(failed("Query"))?;
        let ids = answer
            .items
            .unwrap_or_default()
            .into_iter()
            .map(|mut item| {
                let id = item
                    .remove(id_name)
                    .unwrap_or(aws_sdk_dynamodb::types::AttributeValue::Null(true));
                from_item::<IdOnly>("an edge", Item::from([("id".to_owned(), id)]))
                    .map(|row| UserId::new(row.id))
            });
        Ok(IdPage {
            ids: ids.collect::<Result<_>>()?,
            more: answer.last_evaluated_key.is_some(),
        })
    }
}

#[derive(Deserialize)]
struct IdOnly {
    id: u64,
}
