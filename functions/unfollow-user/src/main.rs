//! `DELETE /v1/users/{id}/follow`: the caller follows somebody no longer, and sees nothing of theirs from the answer on.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::UnfollowUser>().await
}
