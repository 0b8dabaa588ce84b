//! Making and removing edges: the tables `followers` and `following` are two views of the same edges.
//!
//! Both are written in one transaction, so they always mirror each other. An edge is made only if neither of the two has
//! blocked the other, which the same transaction checks. `followers` has the stream, `following` the time of the follow.
//! They are read
//! through [`super::Followers`] and [`super::Following`].

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};
use serde::{Deserialize, Serialize};

use super::Relations;
use super::dynamo::{self, CONDITION_FAILED, failed, to_item};
use super::following::TimedEdge;
use crate::Result;
use crate::domain::UserId;
use crate::platform::{Roost, now_millis};

/// A transaction has at most 100 actions, and an edge takes two.
const EDGES_PER_TRANSACTION: usize = 50;

/// `follower` follows `followee`. The key of both tables, and of the stream's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

/// What became of a wish to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// There is an edge.
    Yes,
    /// There is none, because the follower has blocked the followee.
    BlockedByFollower,
    BlockedByFollowee,
}

#[derive(Clone)]
pub struct Follows {
    client: Client,
    followers: String,
    following: String,
}

impl Follows {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            followers: roost.config.followers_table()?.to_owned(),
            following: roost.config.following_table()?.to_owned(),
        })
    }

    /// Does nothing if the edge exists already.
    pub async fn follow(&self, edge: Edge, relations: &Relations) -> Result<Followed> {
        let (item, timed) = (
            to_item(&edge)?,
            to_item(&TimedEdge::new(edge, now_millis()))?,
        );
        let mut writes = self.both(|table| {
            let item = if table == self.following {
                &timed
            } else {
                &item
            };
            let put = Put::builder()
                .table_name(table)
                .set_item(Some(item.clone()))
                .condition_expression("attribute_not_exists(followee_id)");
            Ok(TransactWriteItem::builder().put(put.build()?).build())
        })?;
        let (follower, followee) = (edge.follower(), edge.followee());
        writes.push(relations.unless_blocks(follower, followee)?);
        writes.push(relations.unless_blocks(followee, follower)?);
        let refusals = dynamo::write_or_refusals(&self.client, writes, "writing a follow").await?;
        Ok(match refusals.as_deref() {
            Some([_, _, _, by_followee]) if by_followee == CONDITION_FAILED => {
                Followed::BlockedByFollowee
            }
            Some([_, _, by_follower, _]) if by_follower == CONDITION_FAILED => {
                Followed::BlockedByFollower
            }
            _ => Followed::Yes,
        })
    }

    /// Does nothing if there is no such edge. Says whether there was one.
    pub async fn unfollow(&self, edge: Edge) -> Result<bool> {
        let key = to_item(&edge)?;
        let writes = self.both(|table| {
            let delete = Delete::builder()
                .table_name(table)
                .set_key(Some(key.clone()))
                .condition_expression("attribute_exists(followee_id)");
            Ok(TransactWriteItem::builder().delete(delete.build()?).build())
        })?;
        dynamo::write_once(&self.client, writes, "removing a follow").await
    }

    /// The same write to both tables.
    fn both(
        &self,
        write: impl Fn(&str) -> Result<TransactWriteItem, BuildError>,
    ) -> Result<Vec<TransactWriteItem>> {
        let writes = [write(&self.followers), write(&self.following)]
            .into_iter()
            .collect::<Result<_, _>>();
        writes.map_err(failed("TransactWriteItems"))
    }

    /// Removes edges from both tables, some at a time, so that the tables mirror each other even if this stops
    /// half-way.
    pub async fn erase(&self, edges: &[Edge]) -> Result<()> {
        for edges in edges.chunks(EDGES_PER_TRANSACTION) {
            // Without conditions, there is none that can fail.
            let writes = self.removals(edges)?;
            dynamo::write_once(&self.client, writes, "removing follows").await?;
        }
        Ok(())
    }

    /// Removes edges from both tables, whether they exist or not, as a part of a transaction.
    pub(super) fn removals(&self, edges: &[Edge]) -> Result<Vec<TransactWriteItem>> {
        let mut writes = Vec::with_capacity(2 * edges.len());
        for edge in edges {
            let key = to_item(edge)?;
            writes.extend(self.both(|table| {
                let delete = Delete::builder()
                    .table_name(table)
                    .set_key(Some(key.clone()));
                Ok(TransactWriteItem::builder().delete(delete.build()?).build())
            })?);
        }
        Ok(writes)
    }
}
