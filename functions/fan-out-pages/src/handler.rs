use shared::domain::event::FanOutWork;
use shared::flows::fan_out::FanOut;
use shared::flows::live::FanAnnouncer;
use shared::runtime::batch::{Consumer, WorkRecord};
use shared::stores::HandOvers;
use shared::stores::handovers::Work;
use shared::{Result, Roost};

pub(crate) struct FanOutPages {
    fan_out: FanOut,
    announcer: FanAnnouncer,
    work: HandOvers,
}

impl Consumer for FanOutPages {
    type Record = WorkRecord;
    const CHUNK: usize = 1;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            fan_out: FanOut::new(roost)?,
            announcer: FanAnnouncer::new(roost)?,
            work: HandOvers::new(roost, Work::FanOut)?,
        })
    }

    async fn handle(&self, records: &[WorkRecord]) -> Result<()> {
        for record in records {
            match record.work()? {
                FanOutWork::Deliver(page) => self.fan_out.deliver(page).await?,
                FanOutWork::Fans(page) => self.announcer.to_page(page).await?,
            }
            self.work.done(record.handed_over()).await;
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
        let batch: Batch<WorkRecord> = serde_json::from_str(EVENT).expect("an event");
        let work: FanOutWork = batch.records[0].work().expect("work");
        assert!(matches!(work, FanOutWork::Deliver(page) if page.depth == 1));
    }
}
