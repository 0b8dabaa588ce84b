//! The REQUEST authorizer: a function that is asked before anybody connects, and answers with a policy.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::request::Parts;
use serde_json::{Map, Value, json};

use super::CONNECT;
use super::event::{Event, method_arn, query_pairs};
use super::routes::{Failure, run};
use crate::lambda::{Function, Lambda};
use crate::template::WebSocketApi;

/// API Gateway waits so long for an authorizer.
const LIMIT: Duration = Duration::from_secs(29);
const ACTION: &str = "execute-api:Invoke";

pub(super) struct Authorizer {
    function: Arc<Function>,
    identity_sources: Vec<String>,
}

impl Authorizer {
    pub(super) fn new(api: &WebSocketApi, lambda: &Lambda) -> Option<Self> {
        let declared = api.authorizer.as_ref()?;
        Some(Self {
            function: Arc::clone(lambda.find(&declared.function_arn)?),
            identity_sources: declared.identity_sources.clone(),
        })
    }

    /// What the request lacks. The authorizer is asked only if there is nothing.
    pub(super) fn missing(&self, request: &Parts) -> Option<&str> {
        let mut sources = self.identity_sources.iter();
        let missing = sources.find(|source| !has_identity(source, request));
        missing.map(String::as_str)
    }

    /// What functions are told about the client, or the status of the refusal.
    pub(super) async fn ask(
        &self,
        event: &Event,
        stage: &str,
    ) -> Result<Map<String, Value>, StatusCode> {
        match run(&self.function, event, LIMIT, CONNECT).await {
            Ok(answer) => verdict(&answer, &method_arn(stage)),
            // The way that AWS documents to say 401.
            Err(Failure::Failed(message)) if message == "Unauthorized" => {
                Err(StatusCode::UNAUTHORIZED)
            }
            Err(_) => Err(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

fn has_identity(source: &str, request: &Parts) -> bool {
    if let Some(name) = source.strip_prefix("route.request.header.") {
        let value = request.headers.get(name.to_ascii_lowercase());
        return value.is_some_and(|value| !value.is_empty());
    }
    let Some(name) = source.strip_prefix("route.request.querystring.") else {
        return false;
    };
    let query = request.uri.query().unwrap_or_default();
    query_pairs(query).any(|(key, value)| key == name && !value.is_empty())
}

/// Reads the authorizer's answer: whether its policy allows `arn`, and what it says of the client.
fn verdict(answer: &Value, arn: &str) -> Result<Map<String, Value>, StatusCode> {
    let malformed = StatusCode::INTERNAL_SERVER_ERROR;
    let principal = answer["principalId"].as_str().ok_or(malformed)?;
    let statements = items(&answer["policyDocument"]["Statement"]);
    if statements.is_empty() {
        return Err(malformed);
    }
    let has = |effect: &str| {
        let mut statements = statements.iter();
        statements.any(|statement| statement["Effect"] == effect && covers(statement, arn))
    };
    if has("Deny") || !has("Allow") {
        return Err(StatusCode::FORBIDDEN);
    }
    let mut told = Map::from_iter([("principalId".to_owned(), json!(principal))]);
    for (key, value) in answer["context"].as_object().into_iter().flatten() {
        // Functions get numbers and flags as texts. Anything else makes AWS refuse the answer.
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null => continue,
            Value::Array(_) | Value::Object(_) => return Err(malformed),
        };
        told.insert(key.clone(), json!(text));
    }
    Ok(told)
}

/// Whether a statement is about calling the API at `arn`.
fn covers(statement: &Value, arn: &str) -> bool {
    let any = |key: &str, is_meant: &dyn Fn(&str) -> bool| {
        let texts = items(&statement[key]);
        texts.iter().filter_map(Value::as_str).any(is_meant)
    };
    let action = ACTION.to_lowercase();
    any("Action", &|pattern| {
        matches(&pattern.to_lowercase(), &action)
    }) && any("Resource", &|pattern| matches(pattern, arn))
}

/// One thing or a list of them, as policies have them.
fn items(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.clone(),
        Value::Null => vec![],
        one => vec![one.clone()],
    }
}

/// A policy's pattern: `*` stands for any text, `?` for one character.
fn matches(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // Whether the pattern so far can end at each place of the text.
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for symbol in pattern.chars() {
        let mut next = vec![false; text.len() + 1];
        for place in 0..=text.len() {
            next[place] = match symbol {
                '*' => ends[place] || (place > 0 && next[place - 1]),
                '?' => place > 0 && ends[place - 1],
                letter => place > 0 && ends[place - 1] && text[place - 1] == letter,
            };
        }
        ends = next;
    }
    ends[text.len()]
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;

    use super::*;

    const ARN: &str = "arn:aws:execute-api:us-east-1:000000000000:local/live/$connect";

    fn policy(effect: &str, resource: &str) -> Value {
        json!({
            "principalId": "alice",
            "policyDocument": {
                "Version": "2012-10-17",
                "Statement": [{"Action": "execute-api:Invoke", "Effect": effect, "Resource": resource}],
            },
            "context": {"user_id": "7", "level": 3, "admin": false},
        })
    }

    #[test]
    fn a_policy_that_allows_the_call_gives_its_context_as_texts() {
        for resource in [ARN, "*", "arn:aws:execute-api:*:*:local/live/*"] {
            assert_eq!(
                verdict(&policy("Allow", resource), ARN).map(Value::Object),
                Ok(json!({"principalId": "alice", "user_id": "7", "level": "3", "admin": "false"}))
            );
        }
    }

    #[test]
    fn a_policy_that_denies_the_call_or_is_about_another_one_refuses() {
        for answer in [
            policy("Deny", ARN),
            policy(
                "Allow",
                "arn:aws:execute-api:us-east-1:000000000000:local/other/$connect",
            ),
        ] {
            assert_eq!(verdict(&answer, ARN), Err(StatusCode::FORBIDDEN));
        }
        let mut both = policy("Allow", "*");
        let denied = policy("Deny", "*")["policyDocument"]["Statement"][0].clone();
        if let Some(statements) = both["policyDocument"]["Statement"].as_array_mut() {
            statements.push(denied);
        }
        assert_eq!(verdict(&both, ARN), Err(StatusCode::FORBIDDEN));
    }

    #[test]
    fn an_answer_that_is_no_policy_is_an_error() {
        let mut nested = policy("Allow", "*");
        nested["context"]["list"] = json!([1]);
        for answer in [json!({}), json!({"principalId": "alice"}), nested] {
            assert_eq!(
                verdict(&answer, ARN),
                Err(StatusCode::INTERNAL_SERVER_ERROR)
            );
        }
    }

    #[test]
    fn an_identity_source_must_be_there_and_not_empty() {
        let request = |target: &str| {
            let request = Request::get(target)
                .header("X-Key", "k")
                .body(Body::empty());
            request.expect("a request").into_parts().0
        };
        let ticket = "route.request.querystring.ticket";
        assert!(has_identity(ticket, &request("/live?a=b&ticket=t")));
        assert!(!has_identity(ticket, &request("/live?ticket=")));
        assert!(!has_identity(ticket, &request("/live?tickets=t")));
        assert!(!has_identity(ticket, &request("/live")));
        assert!(has_identity(
            "route.request.header.X-Key",
            &request("/live")
        ));
        assert!(!has_identity(
            "route.request.header.Other",
            &request("/live")
        ));
    }
}
