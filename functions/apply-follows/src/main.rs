//! Brings what a follower is shown in line with a follow or an unfollow.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::ApplyFollows>().await
}
