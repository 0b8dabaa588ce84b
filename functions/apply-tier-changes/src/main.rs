//! An author's tier flipped: tells every follower, page by page, and settles the flip at the last.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::ApplyTierChanges>().await
}
