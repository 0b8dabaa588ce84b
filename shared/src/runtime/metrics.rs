//! Metrics in CloudWatch's embedded format: a line on standard output that becomes a number.

use serde_json::json;

use super::now_millis;

const NAMESPACE: &str = "Roost";

/// How often something happened in this invocation.
pub fn count(name: &str, value: u64) {
    let definition = json!([{ "Name": name, "Unit": "Count" }]);
    let metrics = json!([{ "Namespace": NAMESPACE, "Dimensions": [[]], "Metrics": definition }]);
    println!(
        "{}",
        json!({ "_aws": { "Timestamp": now_millis(), "CloudWatchMetrics": metrics }, name: value })
    );
}
