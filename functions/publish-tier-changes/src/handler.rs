use shared::domain::event::TierChange;
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::EventStream;
use shared::stores::events::{MOST_RECORDS, Stream};
use shared::stores::tiers::TierRow;
use shared::{Result, Roost};

pub(crate) struct PublishTierChanges {
    events: EventStream,
}

impl Consumer for PublishTierChanges {
    type Record = TableRecord;
    const CHUNK: usize = MOST_RECORDS;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            events: EventStream::new(roost, Stream::TierChanges)?,
        })
    }

    /// The event source's filter lets only items `tier#…` through that have just begun to flip.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
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

fn read(record: &TableRecord) -> Result<TierChange> {
    Ok(batch::new_image::<TierRow>(record)?.change())
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/publish-tier-changes.json");

    #[test]
    fn the_event_is_a_promotion() {
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        let change = read(&batch.records[0]).expect("a record");
        assert!(change.is_celebrity);
        assert_eq!(change.epoch, 1);
    }
}
