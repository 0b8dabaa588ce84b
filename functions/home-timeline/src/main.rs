//! `GET /v1/home_timeline`: what the people the caller follows posted, and the caller's own, newest first.

mod handler;

use shared::flows::home_timeline::HomeTimelines;
use shared::runtime::{aws::Aws, config::Config, http, telemetry};
use shared::stores::{Identities, RateLimits, Redis, Users};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let limits = RateLimits::new(redis.clone(), &config)?;
    let users = Users::new(&aws, &config)?;
    let handler = handler::HomeTimeline {
        identities: Identities::new(users.clone(), redis.clone()),
        home: HomeTimelines::new(&aws, redis, users, &config)?,
    };
    http::serve(limits, &handler.identities, |request| {
        handler.handle(request)
    })
    .await
}
