//! `GET /v1/users/me/blocks`: the people whom the caller has blocked, newest first.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::ListBlocks>().await
}
