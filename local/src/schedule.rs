//! Schedules: functions that are called at a rate.

use std::sync::Arc;

use axum::body::Bytes;
use chrono::{SecondsFormat, Utc};
use serde_json::json;
use uuid::Uuid;

use crate::lambda::{Function, Trigger, invoke_asynchronously};
use crate::template::{ACCOUNT, REGION, Schedule};

/// Calls the function from now on, the first time after one period.
pub(crate) fn start(function: &Arc<Function>, schedule: Schedule) {
    let period = schedule.period;
    let function = Arc::clone(function);
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
        loop {
            ticks.tick().await;
            let payload = schedule
                .input
                .clone()
                .unwrap_or_else(|| scheduled_event(&schedule.name));
            tokio::spawn(invoke_asynchronously(
                Arc::clone(&function),
                Bytes::from(payload),
                Trigger::Schedule,
            ));
        }
    });
}

fn scheduled_event(rule: &str) -> String {
    json!({
        "version": "0",
        "id": Uuid::new_v4().to_string(),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT,
        "time": Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
        "region": REGION,
        "resources": [format!("arn:aws:events:{REGION}:{ACCOUNT}:rule/{rule}")],
        "detail": {},
    })
    .to_string()
}
