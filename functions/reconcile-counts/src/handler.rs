use shared::Result;
use shared::domain::tier::Policy;
use shared::flows::tiers;
use shared::runtime::metrics;
use shared::stores::drifts::Drift;
use shared::stores::users::UserRow;
use shared::stores::{Cards, Drifts, Follows, Tiers, Users};

/// Under which name the position is remembered.
const JOB: &str = "reconcile-counts";

pub(crate) struct ReconcileCounts {
    pub(crate) users: Users,
    pub(crate) follows: Follows,
    pub(crate) drifts: Drifts,
    pub(crate) tiers: Tiers,
    pub(crate) cards: Cards,
    pub(crate) policy: Policy,
    /// Users that one run looks at.
    pub(crate) sample: usize,
}

impl ReconcileCounts {
    /// Every run goes on where the one before stopped, so that everybody has their turn.
    pub(crate) async fn handle(&self) -> Result<()> {
        let (rows, next) = self
            .users
            .scan(self.drifts.position(JOB).await?, self.sample)
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
        tiers::review(&self.tiers, &self.users, &self.cards, &self.policy, &right).await?;
        self.drifts.set_position(JOB, next).await?;
        tracing::info!(users, repaired, "counts reconciled");
        metrics::COUNT_DRIFTS_REPAIRED.add(repaired);
        Ok(())
    }

    /// A difference may just be a record that is still on its way. Seen again a run later, with no count in between,
    /// it is drift.
    async fn reconcile(&self, row: &UserRow) -> Result<Outcome> {
        let id = row.id();
        let (followers, following) = tokio::try_join!(
            self.follows.count_followers(id),
            self.follows.count_following(id)
        )?;
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
        self.cards.set_counts(&self.users.rows([id]).await?).await?;
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
