//! Follower and following counts: exact, although the stream delivers at least once.
//!
//! Every change of an edge leaves a marker `edge#<event id>` in the ledger, in the same transaction as the change of
//! the counters on both users' rows. A record that comes again finds its marker and is left out.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};

use super::dynamo::{self, failed, number, string};
use super::follows::Edge;
use super::users::user_key;
use crate::domain::UserId;
use crate::platform::{Roost, now_millis};
use crate::{Error, Result};

/// Longer than a record can stay in the stream.
const MARKER_SECONDS: u64 = 3 * 24 * 3600;

/// A record is one marker and at most two counters, and a transaction has at most 100 actions.
pub const EDGES_PER_TRANSACTION: usize = 33;

const ATTEMPTS: u32 = 12;

/// An edge that was made or removed.
#[derive(Clone, Debug)]
pub struct EdgeChange {
    /// The stream's id of the event: the same whenever it is delivered again.
    pub event_id: String,
    pub edge: Edge,
    /// +1 or -1.
    pub by: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Change {
    followers: i64,
    following: i64,
}

#[derive(Clone)]
pub struct Counts {
    client: Client,
    users: String,
    ledger: String,
}

impl Counts {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            users: roost.config.users_table()?.to_owned(),
            ledger: roost.config.ledger_table()?.to_owned(),
        })
    }

    /// Counts what has not been counted yet of at most [`EDGES_PER_TRANSACTION`] changes. Gives the users concerned.
    pub async fn apply(&self, changes: &[EdgeChange]) -> Result<BTreeSet<UserId>> {
        let concerned = changes
            .iter()
            .flat_map(|change| [change.edge.followee(), change.edge.follower()])
            .collect();
        let mut open: Vec<&EdgeChange> = changes.iter().collect();
        // Users without a profile (any more) have no counts.
        let mut gone: BTreeSet<UserId> = BTreeSet::new();
        for attempt in 0..ATTEMPTS {
            if open.is_empty() {
                return Ok(concerned);
            }
            let totals: Vec<(UserId, Change)> = sum(&open)
                .into_iter()
                .filter(|(user, change)| !gone.contains(user) && *change != Change::default())
                .collect();
            let mut writes = Vec::with_capacity(open.len() + totals.len());
            for change in &open {
                writes.push(self.marker(&change.event_id)?);
            }
            for (user, change) in &totals {
                writes.push(self.counter(*user, *change)?);
            }
            let answer = self
                .client
                .transact_write_items()
                .set_transact_items(Some(writes))
                .send()
                .await;
            let Err(error) = answer else {
                return Ok(concerned);
            };
            let Some(reasons) = dynamo::cancellation(&error) else {
                return Err(failed("TransactWriteItems")(error));
            };
            let refused = |index: usize| {
                reasons
                    .get(index)
                    .is_some_and(|reason| reason == dynamo::CONDITION_FAILED)
            };
            let refused_users = totals
                .iter()
                .enumerate()
                .filter(|(n, _)| refused(open.len() + n));
            let newly_gone: Vec<UserId> = refused_users.map(|(_, (user, _))| *user).collect();
            let before = open.len();
            let mut index = 0..;
            open.retain(|_| !index.next().is_some_and(refused));
            if open.len() == before && newly_gone.is_empty() {
                // Nothing to leave out, so another transaction was in the way.
                dynamo::back_off(attempt + 1).await;
            }
            gone.extend(newly_gone);
        }
        Err(Error::GaveUp("counting follows"))
    }

    fn marker(&self, event_id: &str) -> Result<TransactWriteItem> {
        let put = Put::builder()
            .table_name(&self.ledger)
            .item("pk", string(format!("edge#{event_id}")))
            .item("expires_at", number(now_millis() / 1_000 + MARKER_SECONDS))
            .condition_expression("attribute_not_exists(pk)")
            .build()
            .map_err(failed("TransactWriteItems"))?;
        Ok(TransactWriteItem::builder().put(put).build())
    }

    fn counter(&self, user: UserId, change: Change) -> Result<TransactWriteItem> {
        let update = Update::builder()
            .table_name(&self.users)
            .key("pk", string(user_key(user)))
            .update_expression(
                "ADD follower_count :followers, following_count :following, version :one",
            )
            .condition_expression("attribute_exists(pk)")
            .expression_attribute_values(
                ":followers",
                AttributeValue::N(change.followers.to_string()),
            )
            .expression_attribute_values(
                ":following",
                AttributeValue::N(change.following.to_string()),
            )
            .expression_attribute_values(":one", number(1))
            .build()
            .map_err(failed("TransactWriteItems"))?;
        Ok(TransactWriteItem::builder().update(update).build())
    }
}

/// What the changes add up to, per user.
fn sum(changes: &[&EdgeChange]) -> BTreeMap<UserId, Change> {
    let mut totals: BTreeMap<UserId, Change> = BTreeMap::new();
    for change in changes {
        totals.entry(change.edge.followee()).or_default().followers += change.by;
        totals.entry(change.edge.follower()).or_default().following += change.by;
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn coalesced_changes_add_up_to_the_single_ones(edges in prop::collection::vec((1..6_u64, 1..6_u64, prop::bool::ANY), 0..60)) {
            let changes: Vec<EdgeChange> = edges
                .iter()
                .map(|&(a, b, came)| EdgeChange {
                    event_id: String::new(),
                    edge: Edge::new(UserId::new(a), UserId::new(b)),
                    by: if came { 1 } else { -1 },
                })
                .collect();
            let totals = sum(&changes.iter().collect::<Vec<_>>());
            for user in 1..6 {
                let by = |matches: bool, came: bool| if !matches { 0 } else if came { 1 } else { -1 };
                let followers: i64 = edges.iter().map(|&(_, b, came)| by(b == user, came)).sum();
                let following: i64 = edges.iter().map(|&(a, _, came)| by(a == user, came)).sum();
                let total = totals.get(&UserId::new(user)).copied().unwrap_or_default();
                prop_assert_eq!(total, Change { followers, following });
            }
        }

        #[test]
        fn a_full_transaction_stays_within_dynamodbs_limit(edges in prop::collection::vec((1..1000_u64, 1..1000_u64), EDGES_PER_TRANSACTION)) {
            let changes: Vec<EdgeChange> = edges
                .iter()
                .map(|&(a, b)| EdgeChange { event_id: String::new(), edge: Edge::new(UserId::new(a), UserId::new(b)), by: 1 })
                .collect();
            prop_assert!(changes.len() + sum(&changes.iter().collect::<Vec<_>>()).len() <= 100);
        }
    }
}
