//! Removes what is left of reactions to tweets that were deleted.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::ForgetReactions>().await
}
