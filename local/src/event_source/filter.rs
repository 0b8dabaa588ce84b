//! Event filter patterns: which records of a stream a function wants to see at all.
//!
//! A pattern is shaped like the record. Objects mean "all of these keys", lists mean "any of these", and an element of
//! a list is a value or a comparison (`{"prefix": "tier#"}`). A record passes if any of the patterns matches.

use serde_json::{Map, Value};

/// The patterns of one event source; none at all lets everything pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    patterns: Vec<Map<String, Value>>,
}

impl Filter {
    pub(crate) fn parse(patterns: &[String]) -> Result<Self, String> {
        let patterns = patterns
            .iter()
            .map(|text| match serde_json::from_str(text) {
                Ok(Value::Object(pattern)) => check(&pattern).map(|()| pattern),
                Ok(_) => Err(format!("the pattern {text} is not an object")),
                Err(error) => Err(format!("the pattern {text} is not JSON: {error}")),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { patterns })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub(crate) fn matches(&self, record: &Value) -> bool {
        self.patterns.is_empty()
            || self
                .patterns
                .iter()
                .any(|pattern| matches_object(pattern, Some(record)))
    }
}

const COMPARISONS: [&str; 6] = [
    "prefix",
    "suffix",
    "anything-but",
    "numeric",
    "exists",
    "equals-ignore-case",
];

/// A pattern that could never match as meant is refused at the start, as AWS does.
fn check(pattern: &Map<String, Value>) -> Result<(), String> {
    for (key, value) in pattern {
        match value {
            Value::Object(inner) => check(inner)?,
            Value::Array(alternatives) if key == "$or" => {
                for alternative in alternatives {
                    alternative
                        .as_object()
                        .map_or_else(|| Err("$or takes objects".to_owned()), check)?;
                }
            }
            Value::Array(alternatives) => {
                for comparison in alternatives
                    .iter()
                    .filter_map(Value::as_object)
                    .flat_map(Map::keys)
                {
                    if !COMPARISONS.contains(&comparison.as_str()) {
                        return Err(format!("{key}: there is no comparison {comparison}"));
                    }
                }
            }
            _ => return Err(format!("{key}: a value must stand in a list")),
        }
    }
    Ok(())
}

fn matches_object(pattern: &Map<String, Value>, record: Option<&Value>) -> bool {
    pattern.iter().all(|(key, expected)| match expected {
        Value::Array(alternatives) if key == "$or" => alternatives
            .iter()
            .filter_map(Value::as_object)
            .any(|one| matches_object(one, record)),
        Value::Array(alternatives) => {
            let actual = record.and_then(|record| record.get(key));
            alternatives
                .iter()
                .any(|alternative| matches_value(alternative, actual))
        }
        Value::Object(inner) => matches_object(inner, record.and_then(|record| record.get(key))),
        _ => false,
    })
}

fn matches_value(expected: &Value, actual: Option<&Value>) -> bool {
    if let Some(comparison) = expected.as_object() {
        return comparison
            .iter()
            .all(|(name, operand)| compare(name, operand, actual));
    }
    match actual {
        // A list in the record matches if any of its elements does.
        Some(Value::Array(elements)) => elements.iter().any(|element| equal(expected, element)),
        Some(actual) => equal(expected, actual),
        None => false,
    }
}

fn compare(name: &str, operand: &Value, actual: Option<&Value>) -> bool {
    if name == "exists" {
        // Only leaves exist, as at AWS.
        let exists = actual.is_some_and(|actual| !actual.is_object());
        return operand.as_bool() == Some(exists);
    }
    match actual {
        Some(Value::Array(elements)) if name != "anything-but" => elements
            .iter()
            .any(|element| compare_leaf(name, operand, element)),
        Some(actual) => compare_leaf(name, operand, actual),
        None => false,
    }
}

fn compare_leaf(name: &str, operand: &Value, actual: &Value) -> bool {
    let texts = || Some((operand.as_str()?, actual.as_str()?));
    match name {
        "prefix" => texts().is_some_and(|(prefix, text)| text.starts_with(prefix)),
        "suffix" => texts().is_some_and(|(suffix, text)| text.ends_with(suffix)),
        "equals-ignore-case" => {
            texts().is_some_and(|(expected, text)| text.to_lowercase() == expected.to_lowercase())
        }
        "anything-but" => match operand {
            Value::Array(excluded) => !excluded.iter().any(|one| equal(one, actual)),
            Value::Object(comparison) => !comparison
                .iter()
                .any(|(name, operand)| compare_leaf(name, operand, actual)),
            one => !equal(one, actual),
        },
        "numeric" => match (operand, actual.as_f64()) {
            (Value::Array(bounds), Some(actual)) if !bounds.is_empty() => {
                bounds.chunks(2).all(|bound| {
                    let [Value::String(operator), limit] = bound else {
                        return false;
                    };
                    let Some(limit) = limit.as_f64() else {
                        return false;
                    };
                    match operator.as_str() {
                        "=" => actual == limit,
                        "<" => actual < limit,
                        "<=" => actual <= limit,
                        ">" => actual > limit,
                        ">=" => actual >= limit,
                        _ => false,
                    }
                })
            }
            _ => false,
        },
        _ => false,
    }
}

fn equal(expected: &Value, actual: &Value) -> bool {
    match (expected.as_f64(), actual.as_f64()) {
        // 1 and 1.0 are the same number.
        (Some(expected), Some(actual)) => expected == actual,
        _ => expected == actual,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Filter;

    fn matches(pattern: &Value, record: &Value) -> bool {
        Filter::parse(&[pattern.to_string()])
            .expect("a good pattern")
            .matches(record)
    }

    fn insert() -> Value {
        json!({"eventName": "INSERT", "dynamodb": {"Keys": {"pk": {"S": "tier#42"}}, "NewImage": {"n": {"N": "5"}}}})
    }

    #[test]
    fn no_pattern_lets_everything_pass() {
        assert!(
            Filter::parse(&[])
                .expect("nothing to read")
                .matches(&insert())
        );
    }

    #[test]
    fn keys_are_anded_and_lists_are_ored() {
        assert!(matches(
            &json!({"eventName": ["REMOVE", "INSERT"]}),
            &insert()
        ));
        assert!(matches(
            &json!({"eventName": ["INSERT"], "dynamodb": {"Keys": {"pk": {"S": [{"prefix": "tier#"}]}}}}),
            &insert()
        ));
        assert!(!matches(
            &json!({"eventName": ["REMOVE"], "dynamodb": {"Keys": {"pk": {"S": [{"prefix": "tier#"}]}}}}),
            &insert()
        ));
    }

    #[test]
    fn several_patterns_are_alternatives() {
        let filter = Filter::parse(&[
            r#"{"eventName":["REMOVE"]}"#.to_owned(),
            r#"{"eventName":["INSERT"]}"#.to_owned(),
        ]);
        assert!(filter.expect("two good patterns").matches(&insert()));
    }

    #[test]
    fn comparisons() {
        let record = json!({"name": "Robin", "age": 7, "tags": ["a", "b"], "none": null});
        for (pattern, expected) in [
            (json!({"name": [{"prefix": "Ro"}]}), true),
            (json!({"name": [{"suffix": "in"}]}), true),
            (json!({"name": [{"suffix": "im"}]}), false),
            (json!({"name": [{"equals-ignore-case": "ROBIN"}]}), true),
            (json!({"name": [{"anything-but": ["Robin"]}]}), false),
            (json!({"name": [{"anything-but": "Wren"}]}), true),
            (json!({"name": [{"anything-but": {"prefix": "Ro"}}]}), false),
            (json!({"age": [{"numeric": [">", 5, "<=", 7]}]}), true),
            (json!({"age": [{"numeric": ["=", 8]}]}), false),
            (json!({"age": [7.0]}), true),
            (json!({"none": [null]}), true),
            (json!({"absent": [{"exists": false}]}), true),
            (json!({"name": [{"exists": false}]}), false),
            (json!({"tags": ["b", "z"]}), true),
            (json!({"absent": ["x"]}), false),
            (json!({"absent": [{"anything-but": "x"}]}), false),
            (json!({"$or": [{"name": ["Wren"]}, {"age": [7]}]}), true),
        ] {
            assert_eq!(matches(&pattern, &record), expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_that_cannot_be_meant_are_refused() {
        for pattern in ["[]", "{", r#"{"a":"b"}"#, r#"{"a":[{"prefx":"b"}]}"#] {
            assert!(Filter::parse(&[pattern.to_owned()]).is_err(), "{pattern}");
        }
    }
}
