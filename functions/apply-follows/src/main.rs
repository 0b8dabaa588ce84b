//! Brings a follower's timeline in line with a follow or an unfollow.

mod handler;

use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::{Follows, Redis, Timelines, Tweets};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let handler = handler::ApplyFollows {
        follows: Follows::new(&aws, &config)?,
        tweets: Tweets::new(&aws, &config)?,
        timelines: Timelines::new(redis, &config)?,
    };
    batch::serve(1, async |records: &[_]| handler.handle(records).await).await
}
