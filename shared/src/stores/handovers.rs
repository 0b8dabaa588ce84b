//! Work that one invocation leaves to another: an item of a table for each piece, carried by the table's stream.
//!
//! Nobody reads the items. Every put is a record of the stream, in order for each key. Whoever has done the work
//! removes its item, so nothing of it stays; if that fails, the item expires. Lambda asks the stream of a table four
//! times a second and reads it for free. Tables are reached from the network of the cache without an endpoint that is
//! paid by the hour. Kinesis has none of this.
//!
//! A stream has two readers at most, so there are two tables. Readers of one table tell their records by the beginning
//! of the key, in the filter of their event source.

use aws_sdk_dynamodb::Client;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::dynamo::{delete_many, put_all, to_item};
use crate::platform::{Roost, now_millis};
use crate::{Error, Result};

/// By then the stream has forgotten the record, too.
const KEPT_SECONDS: u64 = 86_400;

/// The kinds of work that are handed over. [`crate::domain::event`] has what each consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// For `fan-out-pages`.
    FanOut,
    /// For `apply-tier-changes`.
    Tiers,
    /// For `fill-timelines`.
    Fills,
}

impl Work {
    /// What the keys of its items begin with.
    const fn prefix(self) -> &'static str {
        match self {
            Self::FanOut => "fan-out#",
            Self::Tiers => "tier#",
            Self::Fills => "fill#",
        }
    }
}

/// Where to leave work of one kind.
#[derive(Clone)]
pub struct HandOvers {
    client: Client,
    table: String,
    work: Work,
}

/// Which piece of work it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HandOverKey {
    pk: String,
}

/// One piece of work, as its stream shows it.
#[derive(Debug, Serialize, Deserialize)]
pub struct HandOver {
    pk: String,
    /// The piece, as JSON.
    work: String,
    /// Makes every put a change, and so a record of the stream, even if the same work is handed over again.
    nonce: u64,
    expires_at: u64,
}

impl HandOver {
    fn new(pk: String, work: &impl Serialize) -> Result<Self> {
        Ok(Self {
            pk,
            work: serde_json::to_string(work).map_err(Error::unreadable("work to hand over"))?,
            nonce: fastrand::u64(..),
            expires_at: now_millis() / 1_000 + KEPT_SECONDS,
        })
    }

    pub fn work<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.work).map_err(Error::unreadable("work that was handed over"))
    }
}

impl HandOvers {
    pub fn new(roost: &Roost, work: Work) -> Result<Self> {
        let config = &roost.config;
        let table = match work {
            Work::FanOut | Work::Tiers => config.handovers_table(),
            Work::Fills => config.fills_table(),
        };
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: table?.to_owned(),
            work,
        })
    }

    /// Leaves pieces of work, each under a key of its own. A failure may leave some of them; left again, they are done
    /// twice, which every consumer can take.
    pub async fn put(
        &self,
        pieces: impl IntoIterator<Item = (String, impl Serialize)>,
    ) -> Result<()> {
        let items = pieces.into_iter().map(|(key, work)| {
            let pk = format!("{}{key}", self.work.prefix());
            to_item(&HandOver::new(pk, &work)?)
        });
        put_all(&self.client, &self.table, items.collect::<Result<_>>()?).await
    }

    /// Removes the items of work that is done. Work that was left under the same key meanwhile is on the stream, and is
    /// done all the same.
    pub async fn done(&self, keys: impl IntoIterator<Item = HandOverKey>) {
        let removed = async {
            let keys = keys.into_iter().map(|key| {
                let key = to_item(&key)?;
                Ok((self.table.clone(), key))
            });
            delete_many(&self.client, keys.collect::<Result<_>>()?).await
        };
        if let Err(error) = removed.await {
            tracing::warn!(
                error = error.chain(),
                "what was handed over stays until it expires"
            );
        }
    }
}
