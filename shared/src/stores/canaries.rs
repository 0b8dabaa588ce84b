//! Canaries ([`crate::domain::canary`]) in Redis, `canary:{n}`, and what is done about a server that lost writes: it
//! forgets all it holds, because nothing tells which of it is wrong. Everything can be computed again from the tables.

use std::sync::LazyLock;

use redis::cmd;
use serde::{Deserialize, Serialize};

use super::keys;
use crate::Result;
use crate::domain::canary::Raised;
use crate::platform::Roost;
use crate::platform::redis::{Redis, Script};

/// So many that every shard of a cluster has some.
const CANARIES: u16 = 64;

/// Longer than anything can keep the watch from running.
const SECONDS: u64 = 3_600;

/// Keys looked at in one step.
const STEP: usize = 1_000;

static RAISE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("scripts/canary.lua")));

#[derive(Clone)]
pub struct Canaries {
    redis: Redis,
}

/// A server on its way to forget what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// A canary that the server has.
    canary: u16,
    /// Lists of home timelines go first: an author who is hidden must not come to light because the key that hides them
    /// was forgotten before the list.
    lists_are_gone: bool,
    /// The server's own position; 0 at the beginning.
    cursor: u64,
}

impl Sweep {
    pub const fn beside(canary: u16) -> Self {
        Self {
            canary,
            lists_are_gone: false,
            cursor: 0,
        }
    }
}

impl Canaries {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// One round trip: raises every canary.
    pub async fn raise(&self, now_ms: u64) -> Result<Vec<Raised>> {
        let arguments = || [now_ms, SECONDS].map(|number| number.to_string().into_bytes());
        let calls = (0..CANARIES).map(|n| (vec![keys::canary(n)], arguments().to_vec()));
        let heights: Vec<(u64, u64)> = self.redis.run_script(&RAISE, calls).await?;
        let raised = (0..).zip(heights).map(|(canary, (before, now))| Raised {
            canary,
            before: (before > 0).then_some(before),
            now,
        });
        Ok(raised.collect())
    }

    /// The server that has a canary, by its address.
    pub async fn server_of(&self, canary: u16) -> Result<String> {
        self.redis.server_of(&keys::canary(canary)).await
    }

    /// Forgets some more of what the sweep's server holds. `false` if nothing is left.
    pub async fn forget_some(&self, sweep: &mut Sweep) -> Result<bool> {
        let pattern = if sweep.lists_are_gone {
            "*"
        } else {
            keys::ALL_HOME_TIMELINES
        };
        let beside = keys::canary(sweep.canary);
        let (next, found) = self
            .redis
            .scan(&beside, sweep.cursor, pattern, STEP)
            .await?;
        let derived = found.iter().filter(|key| keys::is_derived(key));
        let deletes = derived.map(|key| cmd("UNLINK").arg(key).take());
        self.redis.tell(deletes.collect::<Vec<_>>()).await?;
        sweep.cursor = next;
        if next > 0 {
            return Ok(true);
        }
        let more = !sweep.lists_are_gone;
        sweep.lists_are_gone = true;
        Ok(more)
    }
}
