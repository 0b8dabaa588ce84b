//! `GET /v1/users?ids=`: the profiles of many people at once.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::GetUsers>().await
}
