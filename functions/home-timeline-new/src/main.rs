//! `GET /v1/home_timeline/new?since=<id>`: how much is new. Cheap enough to ask often.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::HomeTimelineNew>().await
}
