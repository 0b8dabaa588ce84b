//! `DELETE /v1/tweets/{id}/hide`: a hidden tweet may be shown again.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::UnhideTweet>().await
}
