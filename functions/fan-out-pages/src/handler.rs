use shared::domain::event::FanOutWork;
use shared::flows::fan_out::FanOut;
use shared::flows::live::FanAnnouncer;
use shared::runtime::batch::{self, Consumer, StreamRecord};
use shared::{Result, Roost};

pub(crate) struct FanOutPages {
    fan_out: FanOut,
    announcer: FanAnnouncer,
}

impl Consumer for FanOutPages {
    type Record = StreamRecord;
    const CHUNK: usize = 1;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            fan_out: FanOut::new(roost)?,
            announcer: FanAnnouncer::new(roost)?,
        })
    }

    async fn handle(&self, records: &[StreamRecord]) -> Result<()> {
        for record in records {
            match batch::payload(record)? {
                FanOutWork::Deliver(page) => self.fan_out.deliver(page).await?,
                FanOutWork::Fans(page) => self.announcer.to_page(page).await?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/fan-out-pages.json");

    #[test]
    fn the_event_is_half_of_an_authors_followers() {
        let batch: Batch<StreamRecord> = serde_json::from_str(EVENT).expect("an event");
        let work: FanOutWork = batch::payload(&batch.records[0]).expect("a payload");
        assert!(matches!(work, FanOutWork::Deliver(page) if page.depth == 1));
    }
}
