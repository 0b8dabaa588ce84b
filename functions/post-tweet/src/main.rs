//! `POST /v1/tweets`: stores a tweet and shows it to its author before it answers. Followers get it through the stream.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::PostTweet>().await
}
