//! `DELETE /v1/tweets/{id}/repost`: the caller takes a repost back.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::UnrepostTweet>().await
}
