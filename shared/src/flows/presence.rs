//! Noting the hours at which people read, beside the page that they read.

use std::time::Duration;

use tokio::time::timeout;

use crate::domain::UserId;
use crate::platform::{Roost, metrics, now_millis};
use crate::stores::{Presence, Users};
use crate::{Error, Result};

/// A page is not kept waiting longer than this. It takes a round trip to Redis, and once an hour two calls of tables more.
const PATIENCE: Duration = Duration::from_millis(300);

pub struct Visits {
    presence: Presence,
    users: Users,
    /// `false` if nobody uses what would be noted.
    wanted: bool,
}

impl Visits {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            presence: Presence::new(roost)?,
            users: Users::new(roost)?,
            wanted: roost.config.warming_rate()? > 0,
        })
    }

    /// Notes that a user reads. If that fails, or takes too long, it is only logged: another read will do.
    pub async fn note(&self, user: UserId) {
        if !self.wanted {
            return;
        }
        match timeout(PATIENCE, self.try_note(user)).await {
            // The page itself says that Redis is down.
            Ok(Ok(()) | Err(Error::RedisDown)) => {}
            Ok(Err(error)) => tracing::warn!(error = error.chain(), "visit not noted"),
            Err(_) => tracing::warn!("visit not noted in time"),
        }
    }

    async fn try_note(&self, user: UserId) -> Result<()> {
        let arrival = self.presence.arrive(user).await?;
        if arrival.was_warmed {
            metrics::WARMED_TIMELINES_READ.add(1);
        }
        // Asked before the write, not after it: a sandbox may remember a deleted account for a minute. If the account goes
        // between the two, the erasure comes by later than any request takes, and finds the row.
        if arrival.is_first && self.users.still_exists(user).await? {
            self.presence.record(user, now_millis()).await?;
        }
        Ok(())
    }
}
