//! On a schedule: recounts some users' edges, repairs counts that drifted, and flips tiers that are due.

mod handler;

use shared::runtime::{aws::Aws, config::Config, schedule, telemetry};
use shared::stores::{Cards, Drifts, Follows, Redis, Tiers, Users, tiers::policy};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let handler = handler::ReconcileCounts {
        users: Users::new(&aws, &config)?,
        follows: Follows::new(&aws, &config)?,
        drifts: Drifts::new(&aws, &config)?,
        tiers: Tiers::new(&aws, &config)?,
        cards: Cards::new(Redis::new(&config)?),
        policy: policy(&config)?,
        sample: config.reconcile_sample()?,
    };
    schedule::serve(async || handler.handle().await).await
}
