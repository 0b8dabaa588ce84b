//! Tweets stream to Kinesis: whatever was stored is announced, and nothing else.

mod handler;

use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::{EventStream, events::MOST_RECORDS};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let events = EventStream::new(&aws, config.tweet_created_stream()?);
    let handler = handler::PublishTweets { events };
    batch::serve(MOST_RECORDS, async |records: &[_]| {
        handler.handle(records).await
    })
    .await
}
