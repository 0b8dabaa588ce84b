//! On a schedule: compares what some readers are served with what the tables say.

mod handler;

use shared::flows::audit::Audit;
use shared::runtime::{aws::Aws, config::Config, schedule, telemetry};
use shared::stores::{Drifts, Redis, Users};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init();
    let config = Config::from_env();
    let aws = Aws::from_env().await;
    let users = Users::new(&aws, &config)?;
    let handler = handler::AuditTimelines {
        drifts: Drifts::new(&aws, &config)?,
        audit: Audit::new(&aws, Redis::new(&config)?, users.clone(), &config)?,
        users,
        sample: config.audit_sample()?,
    };
    schedule::serve(async || handler.handle().await).await
}
