//! `GET /v1/home_timeline`: what the people the caller follows posted, and the caller's own, newest first.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::HomeTimeline>().await
}
