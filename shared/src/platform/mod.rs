//! What Roost runs on: configuration, AWS clients, Redis, the clock, logs and metrics.
//!
//! [`Roost`] holds what every function needs. It is made once, when a sandbox starts, and every store and flow is made
//! from it: `Users::new(&roost)`.

pub mod aws;
pub mod config;
pub mod metrics;
mod moment;
pub mod redis;
pub mod telemetry;

use std::time::{SystemTime, UNIX_EPOCH};

use self::aws::Aws;
use self::config::Config;
pub use self::moment::Moment;
use self::redis::Redis;
use crate::Result;

/// What every function needs.
#[derive(Clone)]
pub struct Roost {
    pub config: Config,
    pub aws: Aws,
    /// `None` if the environment names no Redis: not every function has one.
    redis: Option<Redis>,
}

impl Roost {
    /// For `main`: begins to log, reads the environment and prepares the clients. Nothing connects before its first
    /// use.
    pub async fn start() -> Result<Self> {
        telemetry::init();
        let config = Config::from_env();
        metrics::init(config.metrics_namespace()?);
        Self::new(config, Aws::from_env())
    }

    pub fn new(config: Config, aws: Aws) -> Result<Self> {
        let redis = config.redis_url().is_ok().then(|| Redis::new(&config));
        Ok(Self {
            redis: redis.transpose()?,
            config,
            aws,
        })
    }

    /// The connection that all stores of a sandbox share, or an error that names the missing variable.
    pub fn redis(&self) -> Result<Redis> {
        match &self.redis {
            Some(redis) => Ok(redis.clone()),
            None => Redis::new(&self.config),
        }
    }
}

/// The clock, for code that hands the time to the domain. Milliseconds since 1970.
pub fn now_millis() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
