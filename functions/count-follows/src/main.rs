//! Exact counts out of a stream that delivers at least once, and the flips that they cause.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::CountFollows>().await
}
