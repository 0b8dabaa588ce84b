//! `POST /v1/users/{id}/follow`: the caller follows somebody.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::FollowUser>().await
}
