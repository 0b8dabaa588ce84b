//! `DELETE /v1/tweets/{id}/like`: the caller does not like a tweet any more.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::UnlikeTweet>().await
}
