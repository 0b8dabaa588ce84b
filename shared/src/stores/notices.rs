//! Notices for connected readers: an item of the table `notices` for each of them, put whenever something may be new.
//!
//! Nobody reads the items. The table's stream carries every put to `notify-readers`, in order for each reader. A notice
//! that is not due yet is put again, so it waits in the table and in no sandbox, and the last one of a burst is as safe
//! as the first.

use aws_sdk_dynamodb::Client;
use serde::{Deserialize, Serialize};

use super::connections::Place;
use super::dynamo::{Item, failed, number, put_all, to_item};
use crate::Result;
use crate::domain::UserId;
use crate::domain::live::Pending;
use crate::platform::{Roost, now_millis};

/// Items are worthless after a few seconds.
const KEPT_SECONDS: u64 = 3_600;

/// Instead of a user: everybody who is connected, because Redis has forgotten who that is.
pub const EVERYBODY: UserId = UserId::new(0);

#[derive(Clone)]
pub struct Notices {
    client: Client,
    table: String,
}

/// One notice, as its stream shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    user_id: u64,
    /// When something may have been new, for the first and for the last time.
    first_at: u64,
    last_at: u64,
    /// There is nothing to do before this time.
    pub not_before: u64,
    /// Makes every put a change, and so a record of the stream.
    put_at: u64,
    expires_at: u64,
    /// For [`EVERYBODY`]: how far that got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Place>,
}

impl Notice {
    pub fn new(user: UserId, noticed_at: u64) -> Self {
        Self {
            user_id: user.get(),
            first_at: noticed_at,
            last_at: noticed_at,
            not_before: Pending::since(noticed_at).gathered_at(),
            put_at: noticed_at,
            expires_at: noticed_at / 1_000 + KEPT_SECONDS,
            from: None,
        }
    }

    pub const fn user(&self) -> UserId {
        UserId::new(self.user_id)
    }

    pub const fn pending(&self) -> Pending {
        Pending {
            first_at: self.first_at,
            last_at: self.last_at,
        }
    }

    /// One that stands for two of the same user.
    pub fn and(self, other: &Self) -> Self {
        let pending = self.pending().and(other.pending());
        let not_before = self.not_before.min(other.not_before);
        // For [`EVERYBODY`]: of two that are not equally far, nobody knows what each has missed.
        let from = self.from.clone().filter(|_| self.from == other.from);
        Self {
            not_before,
            from,
            ..self
        }
        .with(pending)
    }

    /// The same notice, standing for this.
    pub fn with(self, pending: Pending) -> Self {
        Self {
            first_at: pending.first_at,
            last_at: pending.last_at,
            ..self
        }
    }

    /// For [`EVERYBODY`]: the rest of it.
    pub fn rest(self, from: Place) -> Self {
        let from = Some(from);
        Self { from, ..self }.again(0)
    }

    /// The same notice, to be met again.
    pub fn again(self, not_before: u64) -> Self {
        Self {
            not_before,
            put_at: now_millis().max(self.put_at + 1),
            ..self
        }
    }
}

impl Notices {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.notices_table()?.to_owned(),
        })
    }

    /// Puts notices, at most one for each user.
    pub async fn put(&self, notices: &[Notice]) -> Result<()> {
        let items = notices.iter().map(to_item);
        put_all(&self.client, &self.table, items.collect::<Result<_>>()?).await
    }

    pub async fn remove(&self, user: UserId) -> Result<()> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(Item::from([(
                "user_id".to_owned(),
                number(user.get()),
            )])));
        delete.send().await.map_err(failed("DeleteItem")).map(drop)
    }
}
