use shared::domain::UserId;
use shared::flows::audit::Audit;
use shared::runtime::schedule::Job;
use shared::stores::users::UserRow;
use shared::stores::{Positions, Users};
use shared::{Result, Roost};

/// Under which name the position is remembered.
const JOB: &str = "audit-timelines";

/// Users who are audited together. The position is remembered before each page of them.
const PAGE: usize = 10;

pub(crate) struct AuditTimelines {
    users: Users,
    positions: Positions,
    audit: Audit,
    /// Users that one run looks at.
    sample: usize,
}

impl Job for AuditTimelines {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            positions: Positions::new(roost)?,
            audit: Audit::new(roost)?,
            sample: roost.config.audit_sample()?,
        })
    }

    /// Every run goes on where the one before stopped, so that everybody has their turn.
    async fn run(&self) -> Result<()> {
        let position = self.positions.get(JOB).await?;
        let (rows, next) = self.users.scan(position, self.sample).await?;
        let (mut audited, mut wrong) = (0, 0);
        for page in rows.chunks(PAGE) {
            // Before the work: if a run dies of one user, the next one goes on behind them.
            let position = page.last().map(UserRow::position);
            self.positions.set(JOB, position).await?;
            let users: Vec<UserId> = page.iter().map(UserRow::id).collect();
            let found = self.audit.run(&users).await?;
            (audited, wrong) = (audited + found.0, wrong + found.1);
        }
        self.positions.set(JOB, next).await?;
        tracing::info!(users = rows.len(), audited, wrong, "timelines audited");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    const EVENT: &str = include_str!("../../../events/audit-timelines.json");

    #[test]
    fn the_event_is_the_schedulers() {
        let event: serde_json::Value = serde_json::from_str(EVENT).expect("an event");
        assert_eq!(event["detail-type"], "Scheduled Event");
    }
}
