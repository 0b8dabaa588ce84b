//! Fills in the rest of timelines of which a reader has rebuilt the first page.

mod handler;

use shared::flows::rebuild::Rebuilds;
use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::{Redis, Users};

/// Records handled together.
const CHUNK: usize = 10;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let users = Users::new(&aws, &config)?;
    let rebuilds = Rebuilds::new(&aws, Redis::new(&config)?, users, &config)?;
    let handler = handler::FillTimelines { rebuilds };
    batch::serve(CHUNK, async |records: &[_]| handler.handle(records).await).await
}
