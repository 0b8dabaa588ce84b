//! Looking tiers up, and reviewing them.

use std::collections::HashMap;

use crate::Result;
use crate::domain::UserId;
use crate::domain::tier::{Policy, TierAndEpoch};
use crate::platform::{Roost, now_millis};
use crate::stores::users::UserRow;
use crate::stores::{Tiers, UserCounts, Users};

/// Tiers asked for in one round trip.
const BATCH: usize = 500;

/// The tiers of authors: from Redis, and from their rows if Redis does not know them.
#[derive(Clone)]
pub struct AuthorTiers {
    users: Users,
    counts: UserCounts,
}

impl AuthorTiers {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            counts: UserCounts::new(roost)?,
        })
    }

    /// The tier of one author. A user without a profile is normal.
    pub async fn one(&self, author: UserId) -> Result<TierAndEpoch> {
        let tiers = self.all(&[author]).await?;
        Ok(tiers.get(&author).copied().unwrap_or_default())
    }

    /// The tiers of all these authors. Users without a profile are normal.
    pub async fn all(&self, authors: &[UserId]) -> Result<HashMap<UserId, TierAndEpoch>> {
        let mut tiers = HashMap::with_capacity(authors.len());
        for authors in authors.chunks(BATCH) {
            let known = self.counts.tiers(authors).await?;
            let unknown: Vec<UserId> = authors
                .iter()
                .filter(|author| !known.contains_key(author))
                .copied()
                .collect();
            tiers.extend(known);
            if !unknown.is_empty() {
                let rows = self.users.rows(unknown.iter().copied()).await?;
                self.counts.set(&rows).await?;
                tiers.extend(unknown.into_iter().map(|id| (id, TierAndEpoch::default())));
                tiers.extend(rows.iter().map(|row| (row.id(), row.tier_and_epoch())));
            }
        }
        Ok(tiers)
    }
}

/// Flips the tiers that the policy wants flipped.
pub struct TierReview {
    users: Users,
    counts: UserCounts,
    tiers: Tiers,
    policy: Policy,
}

impl TierReview {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            counts: UserCounts::new(roost)?,
            tiers: Tiers::new(roost)?,
            policy: roost.config.tier_policy()?,
        })
    }

    /// `true` if every tweet can change a tier, so that each has to be counted and reviewed.
    pub const fn counts_tweets(&self) -> bool {
        self.policy.counts_tweets()
    }

    /// Looks at users whose rows were just read, flips those that are due, and brings Redis up to date.
    pub async fn review(&self, rows: &[UserRow]) -> Result<()> {
        let mut flipped = Vec::new();
        for row in rows {
            if let Some(tier) = row.due_flip(&self.policy, now_millis()) {
                self.tiers.flip(row, tier).await?;
                flipped.push(row.id());
            }
        }
        if flipped.is_empty() {
            return Ok(());
        }
        let rows = self.users.rows(flipped).await?;
        if let Err(error) = self.counts.set(&rows).await {
            // `apply-tier-changes` stores it before it tells anybody.
            tracing::warn!(error = error.chain(), "a flip is not cached yet");
        }
        Ok(())
    }
}
