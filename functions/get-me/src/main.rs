//! `GET /v1/users/me`: the caller's own profile.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::GetMe>().await
}
