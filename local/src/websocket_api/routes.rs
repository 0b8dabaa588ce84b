//! Which function gets which message, and whether its answer goes back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use serde_json::Value;

use super::event::Event;
use super::{CONNECT, DISCONNECT};
use crate::lambda::{Function, InvokeError, Lambda, Trigger};
use crate::output::complain;
use crate::template::WebSocketApi;

/// The route of messages that no other route is for.
const DEFAULT: &str = "$default";
/// Only API Gateway itself calls these, whatever a message says.
const NOT_FOR_MESSAGES: [&str; 2] = [CONNECT, DISCONNECT];

pub(super) struct Routes {
    /// Where the route key is in a message: `type`, or `a.b` for a field of a field.
    field: String,
    by_key: BTreeMap<String, Route>,
}

pub(super) struct Route {
    pub(super) function: Arc<Function>,
    pub(super) timeout: Duration,
    /// Whether the function's answer goes back to the client.
    pub(super) answers: bool,
}

/// Why a function gave no answer that can be used. The terminal has been told.
#[derive(Debug, PartialEq)]
pub(super) enum Failure {
    TimedOut,
    /// The function failed, with this message, or its answer has no `statusCode`.
    Failed(String),
}

impl Routes {
    pub(super) fn new(api: &WebSocketApi, lambda: &Lambda) -> Self {
        let field = api.selection_expression.strip_prefix("$request.body.");
        let by_key = api.routes.iter().filter_map(|(key, route)| {
            let function = lambda.find(&route.function_arn)?;
            let route = Route {
                function: Arc::clone(function),
                timeout: route.timeout,
                answers: route.answers,
            };
            Some((key.clone(), route))
        });
        Self {
            field: field.unwrap_or_default().to_owned(),
            by_key: by_key.collect(),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Route> {
        self.by_key.get(key)
    }

    /// The route of a message. What is not JSON, and what names no route, goes to `$default`.
    pub(super) fn select(&self, message: &str) -> Option<(&str, &Route)> {
        let named = route_key(&self.field, message)
            .filter(|key| !NOT_FOR_MESSAGES.contains(&key.as_str()))
            .and_then(|key| self.by_key.get_key_value(&key));
        let (key, route) = named.or_else(|| self.by_key.get_key_value(DEFAULT))?;
        Some((key, route))
    }
}

/// What a message says at the place of the route key.
fn route_key(field: &str, message: &str) -> Option<String> {
    let message: Value = serde_json::from_str(message).ok()?;
    let found = field
        .split('.')
        .try_fold(&message, |value, name| value.get(name))?;
    found.as_str().map(str::to_owned)
}

/// Runs a function and reads what every answer must have, its `statusCode`.
pub(super) async fn invoke(
    function: &Arc<Function>,
    event: &Event,
    limit: Duration,
    route_key: &str,
) -> Result<(u16, Value), Failure> {
    let answer = run(function, event, limit, route_key).await?;
    let status = &answer["statusCode"];
    let status = status.as_u64().or_else(|| status.as_str()?.parse().ok());
    match status.and_then(|status| u16::try_from(status).ok()) {
        Some(status) => Ok((status, answer)),
        None => {
            let message = format!("gave an answer without a statusCode on {route_key}");
            complain(&function.binary, &message);
            Err(Failure::Failed(message))
        }
    }
}

/// Runs a function whose answer is JSON.
pub(super) async fn run(
    function: &Arc<Function>,
    event: &Event,
    limit: Duration,
    route_key: &str,
) -> Result<Value, Failure> {
    let payload = Bytes::from(event.value.to_string());
    // The limit counts for the wait for a sandbox too, and who is not waited for any more leaves the queue.
    let invocation = function.invoke(payload, Trigger::WebSocket, Some(limit));
    let answer = tokio::time::timeout(limit, invocation).await;
    let failure = match answer {
        Ok(Ok(answer)) => match serde_json::from_slice(&answer) {
            Ok(answer) => return Ok(answer),
            Err(_) => Failure::Failed("its answer is not JSON".to_owned()),
        },
        Ok(Err(InvokeError::TimedOut { .. })) | Err(_) => Failure::TimedOut,
        Ok(Err(error)) => Failure::Failed(error.to_string()),
    };
    let why = match &failure {
        Failure::TimedOut => "no answer in time",
        Failure::Failed(message) => message,
    };
    complain(&function.binary, format!("failed on {route_key}: {why}"));
    Err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_route_key_is_a_text_where_the_expression_says() {
        let key = |field: &str, message: &str| route_key(field, message);
        assert_eq!(key("type", r#"{"type":"ping"}"#).as_deref(), Some("ping"));
        assert_eq!(
            key("a.type", r#"{"a":{"type":"seen"}}"#).as_deref(),
            Some("seen")
        );
        assert_eq!(key("type", r#"{"type":7}"#), None);
        assert_eq!(key("type", r#"{"action":"ping"}"#), None);
        assert_eq!(key("type", "not JSON"), None);
        assert_eq!(key("type", r#"["type"]"#), None);
    }
}
