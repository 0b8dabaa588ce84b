//! `POST /v1/users`: the person behind the token gets a profile.

mod handler;

use shared::runtime::{aws::Aws, config::Config, http, telemetry};
use shared::stores::{Identities, Redis, Users};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    telemetry::init();
    let config = Config::from_env();
    let users = Users::new(&Aws::from_env().await, &config)?;
    let handler = handler::CreateUser {
        identities: Identities::new(users.clone()).cached_in(Redis::new(&config)?),
        users,
    };
    http::serve(|request| handler.handle(request)).await
}
