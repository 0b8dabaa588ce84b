//! Settles what hangs on a tweet after it was posted or deleted: its place among the replies to another tweet, with that
//! tweet's count, and the reactions to it.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::SettleReactions>().await
}
