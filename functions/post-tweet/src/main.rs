//! `POST /v1/tweets`: stores a tweet and shows it to its author before it answers. Followers get it through the stream.

mod handler;

use shared::runtime::{aws::Aws, config::Config, http, telemetry};
use shared::stores::{Cards, Identities, RateLimits, Redis, Timelines, Tweets, Users};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let limits = RateLimits::new(redis.clone(), &config)?;
    let users = Users::new(&aws, &config)?;
    let handler = handler::PostTweet {
        tweets: Tweets::new(&aws, &config)?,
        timelines: Timelines::new(redis.clone(), &config)?,
        cards: Cards::new(redis.clone()),
        identities: Identities::new(users.clone(), redis),
        users,
    };
    http::serve(limits, &handler.identities, |request| {
        handler.handle(request)
    })
    .await
}
