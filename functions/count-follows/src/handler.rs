use aws_lambda_events::dynamodb::EventRecord;
use shared::Result;
use shared::domain::tier::Policy;
use shared::flows::tiers;
use shared::runtime::batch;
use shared::stores::counts::EdgeChange;
use shared::stores::{Cards, Counts, Tiers, Users};

pub(crate) struct CountFollows {
    pub(crate) counts: Counts,
    pub(crate) users: Users,
    pub(crate) cards: Cards,
    pub(crate) tiers: Tiers,
    pub(crate) policy: Policy,
}

impl CountFollows {
    pub(crate) async fn handle(&self, records: &[EventRecord]) -> Result<()> {
        let changes = records.iter().map(read).collect::<Result<Vec<_>>>()?;
        let concerned = self.counts.apply(&changes).await?;
        let rows = self.users.rows(concerned).await?;
        self.cards.set_counts(&rows).await?;
        tiers::review(&self.tiers, &self.users, &self.cards, &self.policy, &rows).await?;
        tracing::info!(edges = changes.len(), users = rows.len(), "follows counted");
        Ok(())
    }
}

fn read(record: &EventRecord) -> Result<EdgeChange> {
    let by = if batch::came(record)? { 1 } else { -1 };
    Ok(EdgeChange {
        event_id: record.event_id.clone(),
        edge: batch::key(record)?,
        by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/count-follows.json");

    #[test]
    fn the_event_is_a_follow_and_an_unfollow() {
        let batch: Batch<EventRecord> = serde_json::from_str(EVENT).expect("an event");
        let changes: Vec<EdgeChange> = batch
            .records
            .iter()
            .map(|record| read(record).expect("a record"))
            .collect();
        assert_eq!(
            changes.iter().map(|change| change.by).collect::<Vec<_>>(),
            [1, -1]
        );
        assert_ne!(changes[0].event_id, changes[1].event_id);
    }
}
