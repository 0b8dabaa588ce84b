//! What surrounds a handler.

pub mod aws;
pub mod batch;
pub mod config;
pub mod http;
pub mod metrics;
pub mod schedule;
pub mod telemetry;

use std::time::{SystemTime, UNIX_EPOCH};

/// The clock, for whoever hands the time to the domain. Milliseconds since 1970.
pub fn now_millis() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
