//! `GET /v1/users/by/handle/{handle}`: anybody's profile, found by its handle.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::GetUserByHandle>().await
}
