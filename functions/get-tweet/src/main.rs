//! `GET /v1/tweets/{id}`: one tweet.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::GetTweet>().await
}
