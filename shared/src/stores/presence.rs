//! The hours at which people read: the `presence` table, a row for each user and hour, and what keeps its writes few.
//!
//! `active:{u}` says that the user's row of this hour is written, or being written by somebody else. So a reader costs one
//! write an hour, however often they read. If Redis does not answer, nothing is written. `warmed:{u}` says that the user's
//! list was made before they came, and goes with their first read.

use aws_sdk_dynamodb::Client;
use redis::{Cmd, Value, cmd};
use serde::{Deserialize, Serialize};

use super::dynamo::{self, Item, failed, from_item, number, string, to_item};
use super::{IdPage, keys};
use crate::Result;
use crate::domain::UserId;
use crate::domain::presence::{Place, Slot, seconds_left};
use crate::platform::Roost;
use crate::platform::redis::{Redis, read};

/// How long the one who writes a row is alone with it. If the write fails, the next reader tries again after that.
const WRITING_SECONDS: u64 = 10;

/// How long it is remembered that a list was made before its reader came.
const WARMED_SECONDS: u64 = 2 * 3600;

#[derive(Clone)]
pub struct Presence {
    client: Client,
    table: String,
    redis: Redis,
}

/// What a reader finds out by coming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// `true` if the row of this hour is the caller's to write, with [`Presence::record`].
    pub is_first: bool,
    /// `true` if the list was made before the reader came, and this is the first read since.
    pub was_warmed: bool,
}

#[derive(Serialize, Deserialize)]
struct PresenceRow {
    slot: String,
    user_id: u64,
    expires_at: u64,
}

impl Presence {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.presence_table()?.to_owned(),
            redis: roost.redis()?,
        })
    }

    /// Says that a user is here. One round trip.
    pub async fn arrive(&self, user: UserId) -> Result<Arrival> {
        let begin = set(keys::active(user), WRITING_SECONDS).arg("NX").take();
        let warmed = cmd("GETDEL").arg(keys::warmed(user)).take();
        let answers: Vec<Value> = self.redis.run([begin, warmed]).await?;
        let mut answers = answers.into_iter();
        let mut is_there = || {
            let answer = answers.next().unwrap_or(Value::Nil);
            read::<Option<String>>(answer).map(|text| text.is_some())
        };
        Ok(Arrival {
            is_first: is_there()?,
            was_warmed: is_there()?,
        })
    }

    /// Writes the row of this hour, and remembers for the rest of the hour that it is written.
    pub async fn record(&self, user: UserId, now_millis: u64) -> Result<()> {
        let slot = Slot::of(user, now_millis);
        let row = PresenceRow {
            slot: slot.to_string(),
            user_id: user.get(),
            expires_at: slot.expires_at(),
        };
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(to_item(&row)?));
        put.send().await.map_err(failed("PutItem"))?;
        let written = set(keys::active(user), seconds_left(now_millis));
        self.redis.tell([written]).await
    }

    /// The users behind a place, in the order of their ids. Rows of the last second may be missing.
    pub async fn page(&self, place: Place, limit: usize) -> Result<IdPage> {
        let start = place.after.map(|user| key(place.slot, user));
        let query = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("slot = :slot")
            .expression_attribute_values(":slot", string(place.slot.to_string()))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .set_exclusive_start_key(start);
        let answer = query.send().await.map_err(failed("Query"))?;
        let items = answer.items.unwrap_or_default().into_iter();
        let ids = items.map(|item| {
            from_item::<PresenceRow>("a row of presence", item).map(|row| UserId::new(row.user_id))
        });
        Ok(IdPage {
            ids: ids.collect::<Result<_>>()?,
            more: answer.last_evaluated_key.is_some(),
        })
    }

    /// Remembers that these users' lists were made before they came.
    pub async fn mark_warmed(&self, users: &[UserId]) -> Result<()> {
        let marks = users
            .iter()
            .map(|user| set(keys::warmed(*user), WARMED_SECONDS));
        self.redis.tell(marks.collect::<Vec<_>>()).await
    }

    /// Removes all rows of a user.
    pub async fn erase(&self, user: UserId, now_millis: u64) -> Result<()> {
        let rows = Slot::all_of(user, now_millis).map(|slot| (self.table.clone(), key(slot, user)));
        dynamo::delete_many(&self.client, rows.collect()).await
    }
}

fn set(key: String, seconds: u64) -> Cmd {
    cmd("SET").arg(key).arg(1).arg("EX").arg(seconds).take()
}

fn key(slot: Slot, user: UserId) -> Item {
    Item::from([
        ("slot".to_owned(), string(slot.to_string())),
        ("user_id".to_owned(), number(user.get())),
    ])
}
