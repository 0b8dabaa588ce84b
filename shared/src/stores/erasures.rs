//! Accounts on their way out: items `erasure#<id>` of the `users` table.
//!
//! One transaction removes the profile and everything that leads to it, and puts the erasure in its place: from then on
//! the account is invisible. Edges, tweets and keys go piece by piece behind it. Each piece ends with a new step of the
//! item, and the record of that step in the table's stream starts the next piece. So an erasure that is stopped half-way
//! goes on where it stopped.
//!
//! A request that knew the account before it was deleted may still write, and its sandbox may die before it takes the
//! write back. So an erasure does not end before no such request can be under way ([`Erasure::writers_left`]).

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};
use serde::{Deserialize, Serialize};

use super::dynamo::{self, failed, number, string, to_item};
use super::markers::marker_key;
use super::tiers::tier_key;
use super::users::{UserRow, handle_key, sub_key, user_key};
use crate::Result;
use crate::domain::UserId;
use crate::platform::{Roost, now_millis};

/// Twice what a function behind the API may take: after that no request is left that knew the account.
pub const WRITERS_MS: u64 = 20_000;

#[derive(Clone)]
pub struct Erasures {
    client: Client,
    users: String,
}

/// `erasure#<id>`, as its stream shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    pk: String,
    user_id: u64,
    pub sub: String,
    /// Grows with every piece that was removed.
    pub step: u64,
    /// When the account was made invisible.
    #[serde(default)]
    began_ms: u64,
}

impl Erasure {
    pub const fn user(&self) -> UserId {
        UserId::new(self.user_id)
    }

    /// How long requests may still write on behalf of this user; `None` if that is over.
    pub fn writers_left(&self, now_ms: u64) -> Option<Duration> {
        let over_ms = self.began_ms + WRITERS_MS;
        (now_ms < over_ms).then(|| Duration::from_millis(over_ms - now_ms))
    }
}

impl Erasures {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            users: roost.config.users_table()?.to_owned(),
        })
    }

    /// Makes the account invisible. Does nothing if it is already.
    pub async fn begin(&self, user: &UserRow) -> Result<()> {
        let id = user.id();
        let build = failed::<aws_sdk_dynamodb::error::BuildError>;
        let profile = Delete::builder()
            .table_name(&self.users)
            .key("pk", string(user_key(id)))
            .condition_expression("attribute_exists(pk)")
            .build()
            .map_err(build("TransactWriteItems"))?;
        let mut writes = vec![TransactWriteItem::builder().delete(profile).build()];
        let others = [
            sub_key(&user.sub),
            handle_key(&user.handle),
            tier_key(id),
            marker_key(id),
        ];
        for pk in others {
            let delete = Delete::builder()
                .table_name(&self.users)
                .key("pk", string(pk))
                .build()
                .map_err(build("TransactWriteItems"))?;
            writes.push(TransactWriteItem::builder().delete(delete).build());
        }
        let erasure = Erasure {
            pk: erasure_key(id),
            user_id: user.user_id,
            sub: user.sub.clone(),
            step: 0,
            began_ms: now_millis(),
        };
        let put = Put::builder()
            .table_name(&self.users)
            .set_item(Some(to_item(&erasure)?))
            .build()
            .map_err(build("TransactWriteItems"))?;
        writes.push(TransactWriteItem::builder().put(put).build());
        dynamo::write_once(&self.client, writes, "deleting a profile")
            .await
            .map(drop)
    }

    /// A piece was removed, or it is too early to end. Does nothing if that was said before.
    pub async fn advance(&self, erasure: &Erasure) -> Result<()> {
        let update = self
            .client
            .update_item()
            .table_name(&self.users)
            .key("pk", string(&erasure.pk))
            .update_expression("SET step = :next")
            .condition_expression("step = :step")
            .expression_attribute_values(":next", number(erasure.step + 1))
            .expression_attribute_values(":step", number(erasure.step));
        dynamo::update_if(update).await.map(drop)
    }

    /// Nothing is left.
    pub async fn finish(&self, erasure: &Erasure) -> Result<()> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.users)
            .key("pk", string(&erasure.pk));
        delete.send().await.map_err(failed("DeleteItem")).map(drop)
    }
}

fn erasure_key(id: UserId) -> String {
    format!("erasure#{id}")
}
