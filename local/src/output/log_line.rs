//! A line that a function wrote, in short: message and fields. Time, request id, trace id and spans stay in the JSON
//! that the function writes here as on AWS, which `ROOST_VERBOSE` shows.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::paint::{Paint, harmless};

/// What the HTTP functions say about every request of a kind. The request's own line says it as well.
const SAID_BY_THE_REQUEST: [&str; 3] = ["account deleted", "request refused", "tweet posted"];

/// Fields that are there for programs: 56 digits that nobody compares by eye.
const FOR_PROGRAMS: [&str; 1] = ["sequence_number"];

/// What a line has to say to a person.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Nothing,
    Event(Event),
    /// Not a log line, for example the text of a panic. It is shown as it is.
    Other,
}

#[derive(Debug, PartialEq)]
pub(super) struct Event {
    /// `INFO`, `WARN`…
    level: String,
    message: String,
    fields: Vec<(String, Value)>,
}

/// As much of a line as is looked at.
#[derive(serde::Deserialize)]
struct Line {
    level: Option<String>,
    fields: Option<Fields>,
    /// Metrics in CloudWatch's embedded format.
    #[serde(rename = "_aws")]
    metrics: Option<IgnoredAny>,
}

/// Fields in the order in which the function named them, which is the order of what matters.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

pub(super) fn read(line: &str) -> Said {
    // Only objects: a list could be read into a struct as well.
    let line: Line = match serde_json::from_str(line) {
        Ok(read) if line.starts_with('{') => read,
        _ => return Said::Other,
    };
    if line.metrics.is_some() {
        return Said::Nothing;
    }
    let (Some(level), Some(Fields(mut fields))) = (line.level, line.fields) else {
        return Said::Other;
    };
    let mut message = String::new();
    fields.retain(|(name, value)| {
        if name == "message" {
            message = value.as_str().unwrap_or_default().to_owned();
        }
        name != "message" && !FOR_PROGRAMS.contains(&name.as_str())
    });
    if level == "INFO" && SAID_BY_THE_REQUEST.contains(&message.as_str()) {
        return Said::Nothing;
    }
    Said::Event(Event {
        level,
        message,
        fields,
    })
}

impl Event {
    /// `fan-out page delivered  tweet_id=7 followers=3`; anything but `INFO` begins with its level.
    pub(super) fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        if self.level != "INFO" {
            text.push_str(&paint.level(&self.level));
            text.push(' ');
        }
        text.push_str(&harmless(&self.message));
        for (index, (name, value)) in self.fields.iter().enumerate() {
            text.push_str(if index == 0 { "  " } else { " " });
            text.push_str(&paint.dim(&format!("{}=", harmless(name))));
            text.push_str(&plain(value));
        }
        text
    }
}

/// In quotes only if it is needed.
fn plain(value: &Value) -> String {
    let needs_quotes =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '=' | '\\');
    match value {
        Value::String(text) if !text.is_empty() && !text.contains(needs_quotes) => text.clone(),
        // JSON's quotes also make harmless what a terminal would take for a command.
        other => harmless(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(line: &str) -> String {
        match read(line) {
            Said::Event(event) => event.text(Paint::new(false)),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn an_event_is_its_message_and_its_fields_without_the_ids_of_requests_and_traces() {
        let line = r#"{"timestamp":"2026-01-02T08:41:03.601Z","level":"INFO","fields":{"message":"fan-out page delivered","tweet_id":"7","followers":3,"delivered":2,"age_ms":24},"span":{"requestId":"r","xrayTraceId":"x","name":"Lambda runtime invoke"},"spans":[{"requestId":"r","name":"Lambda runtime invoke"}]}"#;
        assert_eq!(
            short(line),
            "fan-out page delivered  tweet_id=7 followers=3 delivered=2 age_ms=24"
        );
    }

    #[test]
    fn what_is_wrong_says_its_level() {
        let line = |level: &str| {
            format!(
                r#"{{"level":"{level}","fields":{{"message":"request failed","error":"a \"b\": c","sequence_number":"49680278157618","user_id":5}}}}"#
            )
        };
        assert_eq!(
            short(&line("WARN")),
            r#"WARN request failed  error="a \"b\": c" user_id=5"#
        );
        assert_eq!(
            short(&line("ERROR")),
            r#"ERROR request failed  error="a \"b\": c" user_id=5"#
        );
        let Said::Event(event) = read(&line("ERROR")) else {
            panic!("not an event");
        };
        assert!(
            event
                .text(Paint::new(true))
                .starts_with("\x1b[31mERROR\x1b[0m request failed")
        );
    }

    #[test]
    fn metrics_and_what_the_request_says_are_hidden_but_not_its_troubles() {
        assert_eq!(
            read(r#"{"_aws":{"CloudWatchMetrics":[]},"Deliveries":3}"#),
            Said::Nothing
        );
        let line = |level: &str| {
            format!(
                r#"{{"level":"{level}","fields":{{"message":"request refused","status":400}}}}"#
            )
        };
        assert_eq!(read(&line("INFO")), Said::Nothing);
        assert_eq!(short(&line("WARN")), "WARN request refused  status=400");
    }

    #[test]
    fn other_text_is_left_alone() {
        for line in [
            "thread 'main' panicked at src/main.rs:5:9:",
            "{ not JSON",
            r#"["INFO", {"message": "a list"}, null]"#,
            r#"{"some":"object"}"#,
            "",
        ] {
            assert_eq!(read(line), Said::Other, "{line}");
        }
    }

    #[test]
    fn a_field_cannot_write_commands_to_the_terminal() {
        let line = r#"{"level":"INFO","fields":{"message":"a\u001b[2J","b":"\u001b[2J"}}"#;
        assert!(!short(line).contains('\x1b'), "{:?}", short(line));
    }
}
