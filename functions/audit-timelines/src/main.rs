//! On a schedule: compares what some readers are served with what the tables say.

mod handler;

use shared::runtime::{Exit, schedule};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    schedule::serve::<handler::AuditTimelines>().await
}
