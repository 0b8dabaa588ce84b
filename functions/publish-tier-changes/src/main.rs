//! Users stream to Kinesis: every flip of a tier is announced. The flip and its event cannot part.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::PublishTierChanges>().await
}
