//! New ids for users and tweets.
//!
//! Every sandbox makes its own, in a lane that nobody else has at that time ([`crate::domain::id`]). Lanes are items
//! `lane#<number>` of the `ledger` table. A sandbox picks one at random and takes it on condition that it is free; if
//! not, it picks another one. It does so with its first id, and again when the lane's time is over; most sandboxes never
//! make an id.
//!
//! The time in an id is by Redis' clock, which all sandboxes share, or by our own if Redis does not answer.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use serde::Serialize;
use tokio::sync::Mutex;

use super::dynamo::{failed, number, to_item};
use crate::domain::id::LANES;
use crate::domain::{IdMaker, Lane};
use crate::platform::redis::Redis;
use crate::platform::{Roost, now_millis};
use crate::{Error, Result};

/// How many lanes are tried. At a thousand cold starts a second, three in ten are taken.
const ATTEMPTS: usize = 20;

/// How long DynamoDB keeps a lane that is over, in seconds. Its clock and ours never differ by that much.
const KEPT_SECONDS: u64 = 24 * 3600;

#[derive(Clone)]
pub struct Ids {
    client: Client,
    redis: Redis,
    table: String,
    maker: Arc<Mutex<IdMaker>>,
    pick: fn() -> u64,
}

#[derive(Serialize)]
struct LaneRow {
    pk: String,
    /// Milliseconds since 1970.
    ends_ms: u64,
    /// Seconds since 1970. Until then the item may be needed.
    expires_at: u64,
}

impl Ids {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            redis: roost.redis()?,
            table: roost.config.ledger_table()?.to_owned(),
            maker: Arc::default(),
            pick: || fastrand::u64(..LANES),
        })
    }

    /// For tests: picks lanes like this instead of at random.
    pub fn picking(self, pick: fn() -> u64) -> Self {
        Self { pick, ..self }
    }

    /// A new id for a user or a tweet.
    pub async fn next(&self) -> Result<u64> {
        let mut maker = self.maker.lock().await;
        let now = self.redis.shared_time(now_millis()).await;
        if let Some(id) = maker.next_id(now) {
            return Ok(id);
        }
        let lane = self.take_lane(maker.lane_needed_from(now)).await?;
        maker.use_lane(lane);
        maker.next_id(now).ok_or(Error::GaveUp("making an id"))
    }

    async fn take_lane(&self, from_millis: u64) -> Result<Lane> {
        for _ in 0..ATTEMPTS {
            let lane = Lane::from((self.pick)(), from_millis);
            if self.is_ours(lane).await? {
                return Ok(lane);
            }
        }
        Err(Error::GaveUp("taking a lane"))
    }

    /// Takes the lane, unless somebody has it. If an answer is lost, the lane is lost too, which does no harm.
    async fn is_ours(&self, lane: Lane) -> Result<bool> {
        let row = LaneRow {
            pk: format!("lane#{}", lane.number()),
            ends_ms: lane.ends(),
            expires_at: lane.ends() / 1_000 + KEPT_SECONDS,
        };
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(to_item(&row)?))
            .condition_expression("attribute_not_exists(pk) OR ends_ms <= :from")
            .expression_attribute_values(":from", number(lane.begins()));
        match put.send().await {
            Ok(_) => Ok(true),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(PutItemError::is_conditional_check_failed_exception) =>
            {
                Ok(false)
            }
            Err(error) => Err(failed("PutItem")(error)),
        }
    }
}
