//! Exact counts of reactions out of a stream that delivers at least once.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::CountReactions>().await
}
