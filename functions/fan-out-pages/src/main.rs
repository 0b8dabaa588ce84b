//! Delivers one range of an author's followers and hands over what is left of it.

mod handler;

use shared::flows::fan_out::FanOut;
use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::{EventStream, Follows, Redis, Timelines};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let timelines = Timelines::new(redis, &config)?;
    let pages = EventStream::new(&aws, config.fan_out_pages_stream()?);
    let fan_out = FanOut::new(Follows::new(&aws, &config)?, timelines, pages, &config)?;
    let handler = handler::FanOutPages { fan_out };
    batch::serve(1, async |records: &[_]| handler.handle(records).await).await
}
