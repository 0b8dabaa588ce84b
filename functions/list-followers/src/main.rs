//! `GET /v1/users/{id}/followers`: who follows somebody.

mod handler;

use shared::runtime::{aws::Aws, config::Config, http, telemetry};
use shared::stores::{Follows, Identities, RateLimits, Redis, Users};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let limits = RateLimits::new(redis.clone(), &config)?;
    let users = Users::new(&aws, &config)?;
    let handler = handler::ListFollowers {
        follows: Follows::new(&aws, &config)?,
        identities: Identities::new(users.clone(), redis),
        users,
    };
    http::serve(limits, &handler.identities, |request| {
        handler.handle(request)
    })
    .await
}
