//! `DELETE /v1/tweets/{id}`: takes the caller's tweet back. Nobody is shown it from the answer on.

mod handler;

use shared::runtime::{aws::Aws, config::Config, http, telemetry};
use shared::stores::{Cards, Identities, RateLimits, Redis, Tweets, Users};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let limits = RateLimits::new(redis.clone(), &config)?;
    let users = Users::new(&aws, &config)?;
    let handler = handler::DeleteTweet {
        tweets: Tweets::new(&aws, &config)?,
        cards: Cards::new(redis.clone()),
        identities: Identities::new(users, redis),
    };
    http::serve(limits, &handler.identities, |request| {
        handler.handle(request)
    })
    .await
}
