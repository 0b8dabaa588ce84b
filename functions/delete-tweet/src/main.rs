//! `DELETE /v1/tweets/{id}`: takes the caller's tweet back. Nobody is shown it from the answer on.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::DeleteTweet>().await
}
