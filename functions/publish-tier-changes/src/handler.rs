use aws_lambda_events::dynamodb::EventRecord;
use shared::Result;
use shared::domain::event::TierChange;
use shared::runtime::batch;
use shared::stores::EventStream;
use shared::stores::tiers::TierRow;

pub(crate) struct PublishTierChanges {
    pub(crate) events: EventStream,
}

impl PublishTierChanges {
    /// The event source's filter lets only items `tier#…` through that have just begun to flip.
    pub(crate) async fn handle(&self, records: &[EventRecord]) -> Result<()> {
        let changes = records.iter().map(read).collect::<Result<Vec<_>>>()?;
        self.events
            .put(
                changes
                    .into_iter()
                    .map(|change| (change.user_id.to_string(), change)),
            )
            .await
    }
}

fn read(record: &EventRecord) -> Result<TierChange> {
    Ok(batch::new_image::<TierRow>(record)?.change())
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/publish-tier-changes.json");

    #[test]
    fn the_event_is_a_promotion() {
        let batch: Batch<EventRecord> = serde_json::from_str(EVENT).expect("an event");
        let change = read(&batch.records[0]).expect("a record");
        assert!(change.is_celebrity);
        assert_eq!(change.epoch, 1);
    }
}
