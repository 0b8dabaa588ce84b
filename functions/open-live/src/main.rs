//! `POST /v1/live`: where to connect for live updates, with a ticket that lets one connection in.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::OpenLive>().await
}
