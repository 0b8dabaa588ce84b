//! `GET /v1/home_timeline/new?since=<id>`: how much is new. Cheap enough to ask often.

mod handler;

use shared::flows::{feeds::FeedReader, home_timeline::HomeTimelines};
use shared::runtime::{aws::Aws, config::Config, http, telemetry};
use shared::stores::{
    Cards, Celebs, Feeds, Follows, Identities, Markers, Redis, Timelines, Tweets, Users,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let users = Users::new(&aws, &config)?;
    let tweets = Tweets::new(&aws, &config)?;
    let handler = handler::HomeTimelineNew {
        identities: Identities::new(users.clone()).cached_in(redis.clone()),
        home: HomeTimelines {
            timelines: Timelines::new(redis.clone(), &config)?,
            celebs: Celebs::new(redis.clone()),
            feeds: FeedReader::new(Feeds::new(redis.clone()), tweets.clone()),
            cards: Cards::new(redis.clone()),
            markers: Markers::new(&aws, redis, &config)?,
            follows: Follows::new(&aws, &config)?,
            tweets,
            users,
        },
    };
    http::serve(|request| handler.handle(request)).await
}
