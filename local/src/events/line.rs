//! A line that a function wrote, as an event: what it logs, or what it counts.

use serde_json::{Map, Value};

use super::Event;

/// `None` for what is neither, for example the text of a panic: nobody has looked at what is in it.
pub(super) fn read(function: &str, line: &str) -> Option<Event> {
    let Ok(Value::Object(mut line)) = serde_json::from_str(line) else {
        return None;
    };
    if let Some(header) = line.remove("_aws") {
        return Some(Event::Metrics {
            function: function.to_owned(),
            metrics: metrics(&header, &mut line),
        });
    }
    let (Some(Value::String(level)), Some(Value::Object(mut fields))) =
        (line.remove("level"), line.remove("fields"))
    else {
        return None;
    };
    let message = match fields.remove("message") {
        Some(Value::String(message)) => message,
        _ => String::new(),
    };
    Some(Event::Log {
        function: function.to_owned(),
        level,
        message,
        fields,
    })
}

/// The metrics that the header of CloudWatch's embedded format names, with their values, which stand beside it.
fn metrics(header: &Value, line: &mut Map<String, Value>) -> Map<String, Value> {
    let directives = header["CloudWatchMetrics"].as_array().into_iter().flatten();
    let named = directives.flat_map(|directive| directive["Metrics"].as_array());
    named
        .flatten()
        .filter_map(|metric| line.remove_entry(metric["Name"].as_str()?))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_function_logs_is_an_event_without_the_ids_of_requests_and_traces() {
        let line = r#"{"timestamp":"2026-01-02T08:41:03.601Z","level":"INFO","fields":{"message":"fan-out page delivered","tweet_id":"7","depth":1,"sequence_number":"49"},"span":{"requestId":"r"},"spans":[]}"#;
        let Some(Event::Log {
            function,
            level,
            message,
            fields,
        }) = read("fan-out-pages", line)
        else {
            panic!("not a log line");
        };
        assert_eq!(
            [function, level, message],
            ["fan-out-pages", "INFO", "fan-out page delivered"]
        );
        let expected = json!({"tweet_id": "7", "depth": 1, "sequence_number": "49"});
        assert_eq!(Value::Object(fields), expected);
    }

    #[test]
    fn metrics_are_those_that_the_header_names() {
        let line = r#"{"_aws":{"Timestamp":5,"CloudWatchMetrics":[{"Namespace":"Roost","Dimensions":[[]],"Metrics":[{"Name":"CacheHits","Unit":"Count"},{"Name":"FanOutLag","Unit":"Milliseconds"},{"Name":"Absent"}]}]},"level":"INFO","timestamp":"t","CacheHits":2,"FanOutLag":[5,9]}"#;
        let Some(Event::Metrics { metrics, .. }) = read("home-timeline", line) else {
            panic!("no metrics");
        };
        let expected = json!({"CacheHits": 2, "FanOutLag": [5, 9]});
        assert_eq!(Value::Object(metrics), expected);
    }

    #[test]
    fn other_text_is_no_event() {
        for line in [
            "thread 'main' panicked at src/main.rs:5:9:",
            r#"["INFO", {"message": "a list"}]"#,
            r#"{"some":"object"}"#,
            r#"{"level":"INFO","fields":"none"}"#,
            "",
        ] {
            assert_eq!(read("post-tweet", line), None, "{line}");
        }
    }
}
