//! On a schedule, nearly all the time: notices that the cache has lost writes, and lets it forget what may be wrong.

mod handler;

use shared::runtime::{Exit, schedule};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    schedule::serve::<handler::WatchCache>().await
}
