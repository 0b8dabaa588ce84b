//! Fills in the rest of timelines of which a reader has rebuilt the first page.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::FillTimelines>().await
}
