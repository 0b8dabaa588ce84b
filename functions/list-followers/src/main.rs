//! `GET /v1/users/{id}/followers`: the people who follow a user.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::ListFollowers>().await
}
