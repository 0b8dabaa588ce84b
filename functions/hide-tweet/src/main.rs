//! `PUT /v1/tweets/{id}/hide`: the caller does not want to see a tweet in their home timeline.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::HideTweet>().await
}
