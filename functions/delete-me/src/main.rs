//! `DELETE /v1/users/me`: the caller's account goes, at once for everybody else, and piece by piece behind the answer.

mod handler;

use shared::flows::erase::Eraser;
use shared::runtime::{aws::Aws, config::Config, http, telemetry};
use shared::stores::{Erasures, Identities, RateLimits, Redis, Users};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let limits = RateLimits::new(redis.clone(), &config)?;
    let users = Users::new(&aws, &config)?;
    let handler = handler::DeleteMe {
        identities: Identities::new(users.clone(), redis.clone()),
        users,
        erasures: Erasures::new(&aws, &config)?,
        eraser: Eraser::new(&aws, redis, &config)?,
    };
    http::serve(limits, &handler.identities, |request| {
        handler.handle(request)
    })
    .await
}
