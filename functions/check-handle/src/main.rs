//! `GET /v1/handles/{handle}`: whether somebody who signs up now can have this handle.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve_subject::<handler::CheckHandle>().await
}
