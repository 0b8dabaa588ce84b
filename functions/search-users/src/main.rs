//! `GET /v1/users/search?q=`: the people whose handles begin so.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::SearchUsers>().await
}
