use shared::flows::live::Teller;
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::notices::Notice;
use shared::{Result, Roost};

pub(crate) struct NotifyReaders {
    teller: Teller,
}

impl Consumer for NotifyReaders {
    type Record = TableRecord;
    const CHUNK: usize = 1_000;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            teller: Teller::new(roost)?,
        })
    }

    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let put = records
            .iter()
            .filter(|record| record.event_name != "REMOVE");
        let notices: Vec<Notice> = put.map(batch::new_image).collect::<Result<_>>()?;
        self.teller.tell(notices).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/notify-readers.json");

    #[test]
    fn the_event_is_a_notice() {
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        let notice: Notice = batch::new_image(&batch.records[0]).expect("a notice");
        assert_eq!(notice.noticed_at, 1_794_787_260_000);
    }
}
