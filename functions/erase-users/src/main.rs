//! Removes what deleted accounts have left, piece by piece.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::EraseUsers>().await
}
