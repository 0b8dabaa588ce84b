//! Removes what deleted accounts have left, piece by piece.

mod handler;

use shared::flows::erase::Eraser;
use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::{Erasures, Redis};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let handler = handler::EraseUsers {
        erasures: Erasures::new(&aws, &config)?,
        eraser: Eraser::new(&aws, Redis::new(&config)?, &config)?,
    };
    batch::serve(1, async |records: &[_]| handler.handle(records).await).await
}
