//! `GET /v1/tweets/{id}/replies`: the replies to a tweet.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::ListReplies>().await
}
