//! Delivers one range of an author's followers and hands over what is left of it.

mod handler;

use shared::flows::fan_out::FanOut;
use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::Redis;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let fan_out = FanOut::new(&aws, Redis::new(&config)?, &config)?;
    let handler = handler::FanOutPages { fan_out };
    batch::serve(1, async |records: &[_]| handler.handle(records).await).await
}
