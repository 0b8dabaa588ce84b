//! `PUT /v1/users/{id}/block`: from the answer on neither of the two follows the other, or is shown anything of the other.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::BlockUser>().await
}
