//! What functions are told: the events of a WebSocket API as Lambda gets them from API Gateway.

use axum::http::HeaderMap;
use axum::http::request::Parts;
use chrono::Utc;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::connections::{Connection, End, random_id};
use super::{CONNECT, DISCONNECT};
use crate::template::{ACCOUNT, REGION};

/// The id of the API: what `!Ref` of it gives.
const API: &str = "local";

/// An event, and the id of the request that it is about.
pub(super) struct Event {
    pub(super) request_id: String,
    pub(super) value: Value,
}

/// Somebody wants to connect, as the authorizer is asked.
pub(super) fn authorize(request: &Parts, connection: &Connection, stage: &str) -> Event {
    let mut event = connect(request, connection, stage);
    event.value["type"] = json!("REQUEST");
    event.value["methodArn"] = json!(method_arn(stage));
    event.value["stageVariables"] = json!({});
    if let Some(event) = event.value.as_object_mut() {
        event.remove("isBase64Encoded");
    }
    event
}

/// Somebody wants to connect.
pub(super) fn connect(request: &Parts, connection: &Connection, stage: &str) -> Event {
    let mut event = event(CONNECT, "CONNECT", connection, stage);
    let (headers, all_headers) = headers(&request.headers);
    event.value["headers"] = headers;
    event.value["multiValueHeaders"] = all_headers;
    if let Some((parameters, all_parameters)) = request.uri.query().and_then(parameters) {
        event.value["queryStringParameters"] = parameters;
        event.value["multiValueQueryStringParameters"] = all_parameters;
    }
    event
}

/// A client sent a message.
pub(super) fn message(route_key: &str, body: &str, connection: &Connection, stage: &str) -> Event {
    let mut event = event(route_key, "MESSAGE", connection, stage);
    event.value["requestContext"]["messageId"] = json!(random_id());
    event.value["body"] = json!(body);
    event
}

/// A connection has ended.
pub(super) fn disconnect(end: &End, connection: &Connection, stage: &str) -> Event {
    let mut event = event(DISCONNECT, "DISCONNECT", connection, stage);
    event.value["requestContext"]["disconnectStatusCode"] = json!(end.code);
    event.value["requestContext"]["disconnectReason"] = json!(end.reason);
    event.value["headers"] = json!({ "Host": connection.client.domain });
    event.value["multiValueHeaders"] = json!({ "Host": [connection.client.domain] });
    event
}

/// What a policy of the authorizer must allow.
pub(super) fn method_arn(stage: &str) -> String {
    format!("arn:aws:execute-api:{REGION}:{ACCOUNT}:{API}/{stage}/{CONNECT}")
}

/// What all events have.
fn event(route_key: &str, event_type: &str, connection: &Connection, stage: &str) -> Event {
    let now = Utc::now();
    let request_id = random_id();
    let client = &connection.client;
    let mut context = json!({
        "routeKey": route_key,
        "eventType": event_type,
        "extendedRequestId": request_id,
        "requestTime": now.format("%d/%b/%Y:%H:%M:%S %z").to_string(),
        "messageDirection": "IN",
        "stage": stage,
        "connectedAt": connection.connected_at.timestamp_millis(),
        "requestTimeEpoch": now.timestamp_millis(),
        "identity": {"userAgent": client.user_agent, "sourceIp": client.source_ip},
        "requestId": request_id,
        "domainName": client.domain,
        "connectionId": connection.id,
        "apiId": API,
    });
    if let Some(authorizer) = &client.authorizer {
        context["authorizer"] = json!(authorizer);
    }
    Event {
        value: json!({"requestContext": context, "isBase64Encoded": false}),
        request_id,
    }
}

/// The headers with the last value of each, and with all values of each.
fn headers(headers: &HeaderMap) -> (Value, Value) {
    let pairs = headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.to_string(), value)
    });
    last_and_all(pairs)
}

/// The same for query parameters. `None` if there are none.
fn parameters(query: &str) -> Option<(Value, Value)> {
    let mut pairs = query_pairs(query).peekable();
    pairs.peek()?;
    Some(last_and_all(pairs))
}

pub(super) fn query_pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    let decode = |text: &str| {
        percent_decode_str(&text.replace('+', " "))
            .decode_utf8_lossy()
            .into_owned()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(move |pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(value))
    })
}

fn last_and_all(pairs: impl Iterator<Item = (String, String)>) -> (Value, Value) {
    let (mut last, mut all) = (Map::new(), Map::new());
    for (name, value) in pairs {
        let values = all.entry(name.clone()).or_insert_with(|| json!([]));
        if let Some(values) = values.as_array_mut() {
            values.push(json!(value));
        }
        last.insert(name, json!(value));
    }
    (Value::Object(last), Value::Object(all))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;

    use super::super::connections::connection;
    use super::*;

    fn alice() -> Option<Map<String, Value>> {
        json!({"principalId": "alice", "user_id": "7"})
            .as_object()
            .cloned()
    }

    fn upgrade() -> Parts {
        let request = Request::get("/live?ticket=a%2Bb&x=1&x=2")
            .header("Host", "localhost:9005")
            .header("Upgrade", "websocket");
        request
            .body(Body::empty())
            .expect("a request")
            .into_parts()
            .0
    }

    /// The names of an object's fields, in order.
    fn fields(value: &Value) -> Vec<&str> {
        let object = value.as_object().expect("an object");
        let mut fields: Vec<&str> = object.keys().map(String::as_str).collect();
        fields.sort_unstable();
        fields
    }

    /// What AWS documents for every event.
    const CONTEXT: [&str; 13] = [
        "apiId",
        "connectedAt",
        "connectionId",
        "domainName",
        "eventType",
        "extendedRequestId",
        "identity",
        "messageDirection",
        "requestId",
        "requestTime",
        "requestTimeEpoch",
        "routeKey",
        "stage",
    ];

    fn context_with(more: &[&'static str]) -> Vec<&'static str> {
        let mut all = [&CONTEXT, more].concat();
        all.sort_unstable();
        all
    }

    #[test]
    fn the_authorizer_gets_the_request_and_the_arn_that_its_policy_must_allow() {
        let (connection, _to_send) = connection(None);
        let event = authorize(&upgrade(), &connection, "live").value;
        assert_eq!(
            fields(&event),
            [
                "headers",
                "methodArn",
                "multiValueHeaders",
                "multiValueQueryStringParameters",
                "queryStringParameters",
                "requestContext",
                "stageVariables",
                "type",
            ]
        );
        assert_eq!(event["type"], "REQUEST");
        assert_eq!(
            event["methodArn"],
            "arn:aws:execute-api:us-east-1:000000000000:local/live/$connect"
        );
        assert_eq!(
            event["queryStringParameters"],
            json!({"ticket": "a+b", "x": "2"})
        );
        assert_eq!(
            event["multiValueQueryStringParameters"],
            json!({"ticket": ["a+b"], "x": ["1", "2"]})
        );
        let context = &event["requestContext"];
        assert_eq!(fields(context), CONTEXT);
        assert_eq!(context["eventType"], "CONNECT");
        assert_eq!(context["routeKey"], "$connect");
        assert_eq!(context["connectionId"], json!(connection.id));
        assert_eq!(context["identity"]["sourceIp"], "127.0.0.1");
    }

    #[test]
    fn connect_has_the_request_and_what_the_authorizer_said() {
        let (connection, _to_send) = connection(alice());
        let event = connect(&upgrade(), &connection, "live").value;
        assert_eq!(event["headers"]["upgrade"], "websocket");
        assert_eq!(event["multiValueHeaders"]["upgrade"], json!(["websocket"]));
        assert_eq!(event["isBase64Encoded"], false);
        assert_eq!(
            fields(&event["requestContext"]),
            context_with(&["authorizer"])
        );
        assert_eq!(
            event["requestContext"]["authorizer"],
            json!({"principalId": "alice", "user_id": "7"})
        );
    }

    #[test]
    fn a_message_has_its_body_and_no_headers() {
        let (connection, _to_send) = connection(alice());
        let event = message("$default", r#"{"type":"ping"}"#, &connection, "live").value;
        assert_eq!(
            fields(&event),
            ["body", "isBase64Encoded", "requestContext"]
        );
        assert_eq!(event["body"], r#"{"type":"ping"}"#);
        let context = &event["requestContext"];
        assert_eq!(fields(context), context_with(&["authorizer", "messageId"]));
        assert_eq!(context["eventType"], "MESSAGE");
        assert_eq!(context["stage"], "live");
        assert_eq!(context["domainName"], "localhost:9005");
    }

    #[test]
    fn disconnect_says_why() {
        let (connection, _to_send) = connection(alice());
        let end = End::new(1001, "Going away");
        let event = disconnect(&end, &connection, "live").value;
        let context = &event["requestContext"];
        assert_eq!(
            fields(context),
            context_with(&["authorizer", "disconnectReason", "disconnectStatusCode"])
        );
        assert_eq!(context["eventType"], "DISCONNECT");
        assert_eq!(context["routeKey"], "$disconnect");
        assert_eq!(context["disconnectStatusCode"], 1001);
        assert_eq!(context["disconnectReason"], "Going away");
    }
}
