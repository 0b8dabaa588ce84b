//! Tweets stream to Kinesis: whatever was stored is announced, and nothing else.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::PublishTweets>().await
}
