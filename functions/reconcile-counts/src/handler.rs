use shared::flows::tiers::TierReview;
use shared::platform::metrics;
use shared::runtime::schedule::Job;
use shared::stores::drifts::Drift;
use shared::stores::users::UserRow;
use shared::stores::{Drifts, Followers, Following, Positions, UserCounts, Users};
use shared::{Result, Roost};

/// Under which name the position is remembered.
const JOB: &str = "reconcile-counts";

pub(crate) struct ReconcileCounts {
    users: Users,
    followers: Followers,
    following: Following,
    drifts: Drifts,
    positions: Positions,
    counts: UserCounts,
    review: TierReview,
    /// Users that one run looks at.
    sample: usize,
}

impl Job for ReconcileCounts {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            followers: Followers::new(roost)?,
            following: Following::new(roost)?,
            drifts: Drifts::new(roost)?,
            positions: Positions::new(roost)?,
            counts: UserCounts::new(roost)?,
            review: TierReview::new(roost)?,
            sample: roost.config.reconcile_sample()?,
        })
    }

    /// Every run goes on where the one before stopped, so that everybody has their turn.
    async fn run(&self) -> Result<()> {
        let (rows, next) = self
            .users
            .scan(self.positions.get(JOB).await?, self.sample)
            .await?;
        let (users, mut repaired, mut right) = (rows.len(), 0, Vec::new());
        for row in rows {
            match self.reconcile(&row).await? {
                Outcome::Right => right.push(row),
                Outcome::Repaired => repaired += 1,
                Outcome::InDoubt => {}
            }
        }
        // Nobody flips on a count that is in doubt.
        self.review.review(&right).await?;
        self.positions.set(JOB, next).await?;
        tracing::info!(users, repaired, "counts reconciled");
        metrics::COUNT_DRIFTS_REPAIRED.add(repaired);
        Ok(())
    }
}

impl ReconcileCounts {
    /// A difference may just be a record that is still on its way. Seen again a run later, with no count in between,
    /// it is drift.
    async fn reconcile(&self, row: &UserRow) -> Result<Outcome> {
        let id = row.id();
        let (followers, following) =
            tokio::try_join!(self.followers.count(id), self.following.count(id))?;
        if (followers, following) == (row.follower_count, row.following_count) {
            return Ok(Outcome::Right);
        }
        let drift = Drift {
            followers,
            following,
            version: row.version,
        };
        if !self.drifts.seen_again(id, drift).await? {
            return Ok(Outcome::InDoubt);
        }
        tracing::warn!(user_id = %id, counted = row.follower_count, followers, "follower count drifted");
        if !self
            .users
            .set_counts(id, followers, following, row.version)
            .await?
        {
            return Ok(Outcome::InDoubt);
        }
        self.counts.set(&self.users.rows([id]).await?).await?;
        Ok(Outcome::Repaired)
    }
}

/// What became of one user's counts.
enum Outcome {
    Right,
    Repaired,
    InDoubt,
}

#[cfg(test)]
mod tests {
    const EVENT: &str = include_str!("../../../events/reconcile-counts.json");

    #[test]
    fn the_event_is_the_schedulers() {
        let event: serde_json::Value = serde_json::from_str(EVENT).expect("an event");
        assert_eq!(event["detail-type"], "Scheduled Event");
    }
}
