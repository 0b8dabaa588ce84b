//! On a schedule: recounts some users' edges, repairs counts that drifted, and flips tiers that are due.

mod handler;

use shared::runtime::{Exit, schedule};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    schedule::serve::<handler::ReconcileCounts>().await
}
