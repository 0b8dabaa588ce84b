//! How an author's tweets are delivered: items `tier#<id>` of the `users` table.
//!
//! A flip writes the item, whose stream is where the event comes from, and the user's row, which everybody reads, in
//! one transaction. Each step is conditional on the epoch, which grows by one with every flip; so flips are counted,
//! and a step that comes late or twice does nothing.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use serde::Deserialize;

use super::dynamo::{self, failed, number, string};
use super::users::{UserRow, user_key};
use crate::Result;
use crate::domain::tier::Tier;
use crate::domain::{UserId, event::TierChange};
use crate::platform::{Roost, metrics, now_millis};

#[derive(Clone)]
pub struct Tiers {
    client: Client,
    table: String,
}

/// `tier#<id>`, as its stream shows it.
#[derive(Deserialize)]
pub struct TierRow {
    user_id: u64,
    tier: Tier,
    epoch: u64,
}

impl TierRow {
    /// The event of the flip that led here.
    pub const fn change(&self) -> TierChange {
        TierChange {
            user_id: UserId::new(self.user_id),
            is_celebrity: self.tier.is_celebrity(),
            epoch: self.epoch,
            after: None,
        }
    }
}

impl Tiers {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.users_table()?.to_owned(),
        })
    }

    /// Begins a flip from the state that `row` was read in. Does nothing if that state is over.
    pub async fn flip(&self, row: &UserRow, to: Tier) -> Result<()> {
        let now = now_millis();
        let set = "SET user_id = :user, tier = :tier, epoch = :epoch, tier_since_ms = :now";
        let steps = [
            (
                tier_key(row.id()),
                set,
                "attribute_not_exists(pk) OR epoch = :before",
            ),
            (
                user_key(row.id()),
                "SET tier = :tier, epoch = :epoch, tier_since_ms = :now ADD version :one",
                "attribute_exists(pk) AND (attribute_not_exists(epoch) OR epoch = :before)",
            ),
        ];
        let values = [
            (":user", number(row.user_id)),
            (":tier", string(to.as_str())),
            (":epoch", number(row.epoch + 1)),
            (":before", number(row.epoch)),
            (":now", number(now)),
            (":one", number(1)),
        ];
        tracing::info!(
            user_id = row.user_id,
            to = to.as_str(),
            epoch = row.epoch + 1,
            "tier flips"
        );
        self.write(steps, &values).await?;
        metrics::TIER_FLIPS.add(1);
        Ok(())
    }

    /// Ends a flip whose followers have all been told.
    pub async fn settle(&self, author: UserId, epoch: u64, from: Tier, to: Tier) -> Result<()> {
        let same = "epoch = :epoch AND tier = :from";
        let steps = [
            (tier_key(author), "SET tier = :tier", same),
            (user_key(author), "SET tier = :tier ADD version :one", same),
        ];
        let values = [
            (":tier", string(to.as_str())),
            (":from", string(from.as_str())),
            (":epoch", number(epoch)),
            (":one", number(1)),
        ];
        tracing::info!(
            user_id = author.get(),
            to = to.as_str(),
            epoch,
            "tier settles"
        );
        self.write(steps, &values).await
    }

    /// A condition that fails means that the step was done already.
    async fn write(
        &self,
        steps: [(String, &str, &str); 2],
        values: &[(&str, AttributeValue)],
    ) -> Result<()> {
        let mut writes = Vec::new();
        for (pk, update, condition) in steps {
            let mut step = Update::builder()
                .table_name(&self.table)
                .key("pk", string(pk))
                .update_expression(update)
                .condition_expression(condition);
            // DynamoDB refuses values that an expression does not use.
            for (name, value) in values
                .iter()
                .filter(|(name, _)| uses(update, name) || uses(condition, name))
            {
                step = step.expression_attribute_values(*name, value.clone());
            }
            let step = step.build().map_err(failed("TransactWriteItems"))?;
            writes.push(TransactWriteItem::builder().update(step).build());
        }
        dynamo::write_once(&self.client, writes, "writing a tier")
            .await
            .map(drop)
    }
}

pub(super) fn tier_key(id: UserId) -> String {
    format!("tier#{id}")
}

fn uses(expression: &str, name: &str) -> bool {
    expression
        .split(|c: char| !c.is_alphanumeric() && c != ':' && c != '_')
        .any(|word| word == name)
}
