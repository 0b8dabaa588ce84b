//! A tweet was posted: deliver it, as its author's tier asks. A tweet was deleted: make sure that nobody sees it.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::FanOutTweets>().await
}
