//! `POST /v1/users`: the person behind the token gets a profile.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve_subject::<handler::CreateUser>().await
}
