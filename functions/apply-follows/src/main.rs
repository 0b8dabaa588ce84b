//! Brings what a follower is shown in line with a follow or an unfollow.

mod handler;

use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::{Cards, Celebs, Follows, Redis, Timelines, Tweets, Users};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let handler = handler::ApplyFollows {
        follows: Follows::new(&aws, &config)?,
        tweets: Tweets::new(&aws, &config)?,
        users: Users::new(&aws, &config)?,
        cards: Cards::new(redis.clone()),
        celebs: Celebs::new(redis.clone()),
        timelines: Timelines::new(redis, &config)?,
    };
    batch::serve(100, async |records: &[_]| handler.handle(records).await).await
}
