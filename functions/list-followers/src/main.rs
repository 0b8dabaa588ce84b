//! `GET /v1/users/{id}/followers`: who follows somebody.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::ListFollowers>().await
}
