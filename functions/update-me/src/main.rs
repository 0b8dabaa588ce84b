//! `PATCH /v1/users/me`: the caller changes their own profile.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::UpdateMe>().await
}
