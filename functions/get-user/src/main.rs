//! `GET /v1/users/{id}`: anybody's profile.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::GetUser>().await
}
