//! Users stream to Kinesis: every flip of a tier is announced. The flip and its event cannot part.

mod handler;

use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::{EventStream, events::MOST_RECORDS};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let events = EventStream::new(&aws, config.tier_changes_stream()?);
    let handler = handler::PublishTierChanges { events };
    batch::serve(MOST_RECORDS, async |records: &[_]| {
        handler.handle(records).await
    })
    .await
}
