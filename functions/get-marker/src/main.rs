//! `GET /v1/home_timeline/marker`: how far the caller has read.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::GetMarker>().await
}
