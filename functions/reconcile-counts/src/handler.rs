use shared::flows::reconciliation::ReactionReconciliation;
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
    reactions: ReactionReconciliation,
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
            reactions: ReactionReconciliation::new(roost)?,
            sample: roost.config.reconcile_sample()?,
        })
    }

    /// Every run goes on where the one before stopped, so that everybody has their turn.
    async fn run(&self) -> Result<()> {
        let (rows, next) = self
            .users
            .scan(self.positions.get(JOB).await?, self.sample)
            .await?;
        let (users, mut repaired, mut indexed) = (rows.len(), 0, 0);
        for row in rows {
            // Before the work: if a run dies of one user, the next one goes on behind them.
            self.positions.set(JOB, Some(row.position())).await?;
            indexed += usize::from(self.users.index_handle(&row).await?);
            match self.reactions.check_one_of(row.id()).await {
                Ok(was_wrong) => repaired += usize::from(was_wrong),
                Err(error) if error.may_pass() => return Err(error),
                Err(error) => {
                    tracing::error!(user_id = %row.id(), error = error.chain(), "tweets left out");
                }
            }
            match self.reconcile(&row).await {
                // Nobody flips on a count that is in doubt.
                Ok(Outcome::Right) => self.review.review(std::slice::from_ref(&row)).await?,
                Ok(Outcome::Repaired) => repaired += 1,
                Ok(Outcome::InDoubt) => {}
                Err(error) if error.may_pass() => return Err(error),
                Err(error) => {
                    tracing::error!(user_id = %row.id(), error = error.chain(), "user left out");
                }
            }
        }
        self.positions.set(JOB, next).await?;
        tracing::info!(users, repaired, indexed, "counts reconciled");
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
        // As they are stored, not as they are shown: a count below zero has to be found, too.
        let counted = [row.follower_count, row.following_count].map(u64::try_from);
        if counted == [Ok(followers), Ok(following)] {
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
        // Nothing is repaired while Redis is down: it would go on showing the wrong count.
        self.counts.forget([id]).await?;
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
