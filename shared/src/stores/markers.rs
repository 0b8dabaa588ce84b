//! Read markers: how far somebody has read, the same on all their devices. Item `marker#<id>` of the `users` table,
//! and a copy in Redis that a page is read with.
//!
//! Devices race, so an update names the version that it has seen, and a stale one is refused.

use std::sync::LazyLock;

use aws_sdk_dynamodb::Client;
use redis::cmd;
use serde::Deserialize;

use super::dynamo::{self, failed, from_item, number, string};
use super::keys;
use crate::domain::{Marker, TweetId, UserId};
use crate::platform::Roost;
use crate::platform::redis::{Redis, Script};
use crate::{Error, Result};

const SECONDS: u64 = 30 * 24 * 3600;

static SET: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/set_versioned.lua")));

#[derive(Deserialize)]
struct MarkerRow {
    last_read_id: u64,
    version: u64,
}

#[derive(Clone)]
pub struct Markers {
    client: Client,
    table: String,
    redis: Redis,
}

impl Markers {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.users_table()?.to_owned(),
            redis: roost.redis()?,
        })
    }

    /// The marker as the table has it; what the cache has is brought up to date.
    pub async fn get(&self, user: UserId) -> Result<Marker> {
        let key = string(marker_key(user));
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("pk", key)
            .consistent_read(true);
        let item = request.send().await.map_err(failed("GetItem"))?.item;
        let row: Option<MarkerRow> = item
            .map(|item| from_item("a read marker", item))
            .transpose()?;
        let row = row.unwrap_or(MarkerRow {
            last_read_id: 0,
            version: 0,
        });
        let marker = Marker {
            last_read: TweetId::new(row.last_read_id),
            version: row.version,
        };
        self.cache(user, marker).await;
        Ok(marker)
    }

    /// Moves the marker, if `version` is still the one that the client has seen.
    pub async fn set(&self, user: UserId, last_read: TweetId, version: u64) -> Result<Marker> {
        let next = version.saturating_add(1);
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", string(marker_key(user)))
            .update_expression("SET last_read_id = :read, version = :next")
            .condition_expression("version = :seen OR (attribute_not_exists(pk) AND :seen = :none)")
            .expression_attribute_values(":read", number(last_read.get()))
            .expression_attribute_values(":next", number(next))
            .expression_attribute_values(":seen", number(version))
            .expression_attribute_values(":none", number(0));
        if !dynamo::update_if(update).await? {
            let now = self.get(user).await?;
            return Err(Error::StaleMarker { now, seen: version });
        }
        let marker = Marker {
            last_read,
            version: next,
        };
        self.cache(user, marker).await;
        Ok(marker)
    }

    /// Takes back what was written for a user who was deleted meanwhile.
    pub async fn remove(&self, user: UserId) -> Result<()> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .key("pk", string(marker_key(user)));
        delete.send().await.map_err(failed("DeleteItem"))?;
        let delete = cmd("DEL").arg(keys::marker(user)).take();
        self.redis.tell([delete]).await
    }

    // The table is the truth; a cache that fails is filled by the next reader.
    async fn cache(&self, user: UserId, marker: Marker) {
        let arguments = [
            marker.version.to_string(),
            SECONDS.to_string(),
            "last_read_id".to_owned(),
            marker.last_read.to_string(),
        ];
        let call = (
            vec![keys::marker(user)],
            arguments.map(String::into_bytes).to_vec(),
        );
        if let Err(error) = self.redis.tell_script(&SET, [call]).await {
            tracing::warn!(error = error.chain(), "read marker not cached");
        }
    }
}

pub(super) fn marker_key(user: UserId) -> String {
    format!("marker#{user}")
}
