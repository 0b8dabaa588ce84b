//! `PUT /v1/home_timeline/marker`: the caller has read this far.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::PutMarker>().await
}
