//! `GET /v1/users/me/mutes`: the people whom the caller has muted, newest first.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::ListMutes>().await
}
