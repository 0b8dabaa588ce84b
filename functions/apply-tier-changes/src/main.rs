//! An author's tier flipped: tells every follower, page by page, and settles the flip at the last.

mod handler;

use shared::flows::feeds::FeedReader;
use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::{
    Cards, Celebs, EventStream, Feeds, Follows, Redis, Tiers, Timelines, Tweets, Users,
    tiers::policy,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let tweets = Tweets::new(&aws, &config)?;
    let feeds = Feeds::new(redis.clone());
    let handler = handler::ApplyTierChanges {
        follows: Follows::new(&aws, &config)?,
        users: Users::new(&aws, &config)?,
        tiers: Tiers::new(&aws, &config)?,
        cards: Cards::new(redis.clone()),
        celebs: Celebs::new(redis.clone()),
        feed_reader: FeedReader::new(feeds.clone(), tweets.clone()),
        feeds,
        tweets,
        timelines: Timelines::new(redis, &config)?,
        changes: EventStream::new(&aws, config.tier_changes_stream()?),
        policy: policy(&config)?,
        page_size: config.fan_out_page_size()?,
    };
    batch::serve(1, async |records: &[_]| handler.handle(records).await).await
}
