use aws_lambda_events::kinesis::KinesisEventRecord;
use shared::Result;
use shared::flows::fan_out::FanOut;
use shared::runtime::batch;

pub(crate) struct FanOutPages {
    pub(crate) fan_out: FanOut,
}

impl FanOutPages {
    pub(crate) async fn handle(&self, records: &[KinesisEventRecord]) -> Result<()> {
        for record in records {
            self.fan_out.deliver(batch::payload(record)?).await?;
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
        let batch: Batch<KinesisEventRecord> = serde_json::from_str(EVENT).expect("an event");
        let page: shared::domain::event::FanOutPage =
            batch::payload(&batch.records[0]).expect("a payload");
        assert_eq!(page.depth, 1);
    }
}
