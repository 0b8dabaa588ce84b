//! `GET /v1/users/{id}/tweets`: what somebody posted, newest first.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::UserTimeline>().await
}
