//! `DELETE /v1/users/me`: the caller's account goes, at once for everybody else, and piece by piece behind the answer.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve_subject::<handler::DeleteMe>().await
}
