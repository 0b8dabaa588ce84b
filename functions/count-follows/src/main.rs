//! Exact counts out of a stream that delivers at least once, and the flips that they cause.

mod handler;

use shared::runtime::{aws::Aws, batch, config::Config, telemetry};
use shared::stores::{
    Cards, Counts, Redis, Tiers, Users, counts::EDGES_PER_TRANSACTION, tiers::policy,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let redis = Redis::new(&config)?;
    let handler = handler::CountFollows {
        counts: Counts::new(&aws, &config)?,
        users: Users::new(&aws, &config)?,
        cards: Cards::new(redis),
        tiers: Tiers::new(&aws, &config)?,
        policy: policy(&config)?,
    };
    batch::serve(EDGES_PER_TRANSACTION, async |records: &[_]| {
        handler.handle(records).await
    })
    .await
}
