//! A tweet was posted: deliver it, as its author's tier asks. A tweet was deleted: make sure that nobody sees it.

mod handler;

use shared::flows::fan_out::FanOut;
use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::{Cards, Feeds, Receipts, Redis, Tiers, Timelines, Users, tiers::policy};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let handler = handler::FanOutTweets {
        fan_out: FanOut::new(&aws, redis.clone(), &config)?,
        timelines: Timelines::new(redis.clone(), &config)?,
        feeds: Feeds::new(redis.clone()),
        receipts: Receipts::new(redis.clone()),
        cards: Cards::new(redis),
        users: Users::new(&aws, &config)?,
        tiers: Tiers::new(&aws, &config)?,
        policy: policy(&config)?,
    };
    batch::serve(1, async |records: &[_]| handler.handle(records).await).await
}
