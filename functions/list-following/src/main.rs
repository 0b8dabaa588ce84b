//! `GET /v1/users/{id}/following`: the people whom a user follows, the last followed first.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::ListFollowing>().await
}
