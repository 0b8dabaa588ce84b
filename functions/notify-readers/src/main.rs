//! Turns notices into messages for connected readers, when they are due.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::NotifyReaders>().await
}
