//! `DELETE /v1/users/{id}/mute`: the caller sees somebody in the home timeline again, with all that was posted meanwhile.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::UnmuteUser>().await
}
