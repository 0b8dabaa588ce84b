//! On a schedule: makes the missing lists of users who are likely to read soon.

mod handler;

use shared::runtime::{Exit, schedule};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    schedule::serve::<handler::WarmTimelines>().await
}
