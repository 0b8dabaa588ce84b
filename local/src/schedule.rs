//! Schedules: functions that are called at a rate. Cron expressions are left to AWS.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use chrono::{SecondsFormat, Utc};
use serde_json::json;
use uuid::Uuid;

use crate::lambda::{Function, invoke_asynchronously};
use crate::output::say;
use crate::template::{ACCOUNT, REGION, Schedule};

/// Calls the function from now on, the first time after one period.
pub(crate) fn start(function: &Arc<Function>, schedule: Schedule) {
    let Some(period) = parse_rate(&schedule.expression) else {
        return say(format!(
            "{} is not called: {} is not a rate",
            function.binary, schedule.expression
        ));
    };
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

/// `rate(5 minutes)`.
fn parse_rate(expression: &str) -> Option<Duration> {
    let (count, unit) = expression
        .strip_prefix("rate(")?
        .strip_suffix(')')?
        .trim()
        .split_once(' ')?;
    let seconds = match unit.trim().trim_end_matches('s') {
        "minute" => 60,
        "hour" => 3_600,
        "day" => 86_400,
        _ => return None,
    };
    let count: u64 = count.parse().ok().filter(|count| *count > 0)?;
    Some(Duration::from_secs(count.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        assert_eq!(parse_rate("rate(1 minute)"), Some(Duration::from_secs(60)));
        assert_eq!(
            parse_rate("rate(2 hours)"),
            Some(Duration::from_secs(7_200))
        );
        assert_eq!(parse_rate("rate(0 hours)"), None);
        assert_eq!(parse_rate("cron(0 12 * * ? *)"), None);
    }
}
