//! Metrics in CloudWatch's embedded format: a line on standard output that becomes numbers.

use serde_json::{Map, Value, json};

use super::now_millis;

const NAMESPACE: &str = "Roost";

/// Emits metrics of this invocation: name, unit and value.
pub fn emit(metrics: &[(&str, &str, u64)]) {
    let definitions: Vec<Value> = metrics
        .iter()
        .map(|(name, unit, _)| json!({ "Name": name, "Unit": unit }))
        .collect();
    let directive = json!([{ "Namespace": NAMESPACE, "Dimensions": [[]], "Metrics": definitions }]);
    let mut line: Map<String, Value> = metrics
        .iter()
        .map(|(name, _, value)| ((*name).to_owned(), json!(value)))
        .collect();
    line.insert(
        "_aws".to_owned(),
        json!({ "Timestamp": now_millis(), "CloudWatchMetrics": directive }),
    );
    println!("{}", Value::Object(line));
}
