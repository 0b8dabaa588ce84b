//! `GET /v1/tweets?ids=`: many tweets at once.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::GetTweets>().await
}
