//! `PUT /v1/users/{id}/mute`: the caller sees nothing of somebody in the home timeline from the answer on.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::MuteUser>().await
}
