//! `DELETE /v1/users/{id}/block`: the two may follow each other again. Nothing else comes back.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::UnblockUser>().await
}
