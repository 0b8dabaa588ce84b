//! Making lists before their readers come: those that are missing, of users who are expected.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::rebuild::Rebuilds;
use crate::Result;
use crate::domain::UserId;
use crate::platform::Roost;
use crate::stores::users::UserRow;
use crate::stores::{Hidden, Presence, Timelines, Users};

/// How long the making of one list may take. An erasure lasts longer, so it finds a list that was begun just before the
/// account went.
const LIMIT: Duration = Duration::from_secs(10);

pub struct Warming {
    timelines: Timelines,
    hidden: Hidden,
    users: Users,
    rebuilds: Rebuilds,
    presence: Presence,
}

/// What became of some users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warmed {
    /// Lists that were begun, or found to be somebody else's work.
    pub tried: usize,
    /// Lists that are there now.
    pub made: usize,
    pub failed: usize,
}

impl Warming {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            timelines: Timelines::new(roost)?,
            hidden: Hidden::new(roost)?,
            users: Users::new(roost)?,
            rebuilds: Rebuilds::new(roost)?,
            presence: Presence::new(roost)?,
        })
    }

    /// Those of these users who have no list.
    pub async fn without_list(&self, users: &[UserId]) -> Result<Vec<UserId>> {
        let active = self.timelines.active(users).await?;
        let active: HashSet<UserId> = active.into_iter().collect();
        let missing = users.iter().filter(|user| !active.contains(user));
        Ok(missing.copied().collect())
    }

    /// Makes these users' lists, all at once. One that fails is reported, and does not take the others with it. Users
    /// without a profile get none.
    pub async fn warm(&self, users: &[UserId]) -> Result<Warmed> {
        let rows = self.users.rows(users.iter().copied()).await?;
        let cached = self.timelines.cached(users).await?;
        let deadline = Instant::now() + LIMIT;
        let making = rows.iter().map(UserRow::id).map(|user| {
            let is_lost = !cached.contains(&user);
            async move { (user, self.warm_one(user, is_lost, deadline).await) }
        });
        let mut made = Vec::with_capacity(rows.len());
        let mut failed = 0;
        for (user, outcome) in join_all(making).await {
            match outcome {
                Ok(true) => made.push(user),
                Ok(false) => {}
                Err(error) => {
                    failed += 1;
                    tracing::warn!(user_id = %user, error = error.chain(), "timeline not warmed");
                }
            }
        }
        self.presence.mark_warmed(&made).await?;
        Ok(Warmed {
            tried: rows.len(),
            made: made.len(),
            failed,
        })
    }

    /// `is_lost` if nothing is cached for the user, not even who must be hidden.
    async fn warm_one(&self, user: UserId, is_lost: bool, deadline: Instant) -> Result<bool> {
        if is_lost {
            // As a reader who finds nothing does, before they make a list. Otherwise the first reader would find a list of
            // which nobody knows how far it can be trusted, and ask the tables with every page.
            self.hidden.begin_doubt(user, false).await?;
        }
        self.rebuilds.warm(user, deadline).await
    }
}
