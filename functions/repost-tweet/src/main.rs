//! `PUT /v1/tweets/{id}/repost`: the caller passes a tweet on to their followers.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::RepostTweet>().await
}
