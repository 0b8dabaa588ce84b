use shared::Result;
use shared::domain::UserId;
use shared::flows::audit::Audit;
use shared::stores::users::UserRow;
use shared::stores::{Drifts, Users};

/// Under which name the position is remembered.
const JOB: &str = "audit-timelines";

pub(crate) struct AuditTimelines {
    pub(crate) users: Users,
    pub(crate) drifts: Drifts,
    pub(crate) audit: Audit,
    /// Users that one run looks at.
    pub(crate) sample: usize,
}

impl AuditTimelines {
    /// Every run goes on where the one before stopped, so that everybody has their turn.
    pub(crate) async fn handle(&self) -> Result<()> {
        let position = self.drifts.position(JOB).await?;
        let (rows, next) = self.users.scan(position, self.sample).await?;
        let users: Vec<UserId> = rows.iter().map(UserRow::id).collect();
        let (audited, wrong) = self.audit.run(&users).await?;
        self.drifts.set_position(JOB, next).await?;
        tracing::info!(users = users.len(), audited, wrong, "timelines audited");
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
