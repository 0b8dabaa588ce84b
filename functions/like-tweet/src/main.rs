//! `PUT /v1/tweets/{id}/like`: the caller likes a tweet.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::LikeTweet>().await
}
