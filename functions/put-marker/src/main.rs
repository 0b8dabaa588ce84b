//! `PUT /v1/home_timeline/marker`: the caller has read this far.

mod handler;

use shared::runtime::{aws::Aws, config::Config, http, telemetry};
use shared::stores::{Identities, Markers, RateLimits, Redis, Users};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let limits = RateLimits::new(redis.clone(), &config)?;
    let users = Users::new(&aws, &config)?;
    let handler = handler::PutMarker {
        markers: Markers::new(&aws, redis.clone(), &config)?,
        identities: Identities::new(users.clone(), redis),
        users,
    };
    http::serve(limits, &handler.identities, |request| {
        handler.handle(request)
    })
    .await
}
