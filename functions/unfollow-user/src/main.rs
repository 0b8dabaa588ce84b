//! `DELETE /v1/users/{id}/follow`: the caller follows somebody no longer, and sees nothing of theirs from the answer on.

mod handler;

use shared::runtime::{aws::Aws, config::Config, http, telemetry};
use shared::stores::{Follows, Identities, RateLimits, Redis, Timelines, Users};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let limits = RateLimits::new(redis.clone(), &config)?;
    let users = Users::new(&aws, &config)?;
    let handler = handler::UnfollowUser {
        follows: Follows::new(&aws, &config)?,
        timelines: Timelines::new(redis.clone(), &config)?,
        identities: Identities::new(users, redis),
    };
    http::serve(limits, &handler.identities, |request| {
        handler.handle(request)
    })
    .await
}
