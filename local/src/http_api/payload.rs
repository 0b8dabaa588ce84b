//! Payload format 2.0: a request as the function gets it, and the function's answer as the client gets it.

use std::net::SocketAddr;

use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::template::ACCOUNT;

/// What the gateway has found out about a request before the function sees it.
pub(super) struct Context<'a> {
    pub(super) request_id: &'a str,
    pub(super) route_key: &'a str,
    pub(super) path_parameters: Map<String, Value>,
    /// `{jwt: {claims, scopes}}`.
    pub(super) authorizer: Option<Value>,
    pub(super) client: SocketAddr,
}

pub(super) fn event(request: &Parts, body: &Bytes, context: Context<'_>) -> Value {
    let path = request.uri.path();
    let query = request.uri.query().unwrap_or_default();
    let (mut headers, mut cookies) = (Map::new(), vec![]);
    for name in request.headers.keys() {
        let values: Vec<String> = request
            .headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        if name == header::COOKIE {
            cookies.extend(
                values
                    .iter()
                    .flat_map(|value| value.split("; "))
                    .map(str::to_owned),
            );
        } else {
            headers.insert(name.to_string(), Value::String(values.join(",")));
        }
    }
    let text_of = |name: HeaderName| {
        request
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let domain = text_of(header::HOST).unwrap_or("localhost");
    let now = Utc::now();
    let mut event = json!({
        "version": "2.0",
        "routeKey": context.route_key,
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "requestContext": {
            "accountId": ACCOUNT,
            "apiId": "local",
            "domainName": domain,
            "domainPrefix": domain.split(['.', ':']).next().unwrap_or_default(),
            "http": {
                "method": request.method.as_str(),
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": context.client.ip(),
                "userAgent": text_of(header::USER_AGENT).unwrap_or_default(),
            },
            "requestId": context.request_id,
            "routeKey": context.route_key,
            "stage": "$default",
            "time": now.format("%d/%b/%Y:%H:%M:%S %z").to_string(),
            "timeEpoch": now.timestamp_millis(),
        },
        "isBase64Encoded": false,
    });
    if !cookies.is_empty() {
        event["cookies"] = json!(cookies);
    }
    if !query.is_empty() {
        event["queryStringParameters"] = Value::Object(query_parameters(query));
    }
    if !context.path_parameters.is_empty() {
        event["pathParameters"] = Value::Object(context.path_parameters);
    }
    if let Some(authorizer) = context.authorizer {
        event["requestContext"]["authorizer"] = authorizer;
    }
    if !body.is_empty() {
        match std::str::from_utf8(body) {
            Ok(text) if is_text(text_of(header::CONTENT_TYPE)) => event["body"] = json!(text),
            _ => {
                event["body"] = json!(STANDARD.encode(body));
                event["isBase64Encoded"] = json!(true);
            }
        }
    }
    event
}

/// Parameters that come several times are one text with commas.
pub(super) fn query_parameters(query: &str) -> Map<String, Value> {
    let decode = |text: &str| {
        percent_decode_str(&text.replace('+', " "))
            .decode_utf8_lossy()
            .into_owned()
    };
    let mut parameters = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name), decode(value));
        let value = match parameters.get(&name) {
            Some(Value::String(earlier)) => format!("{earlier},{value}"),
            _ => value,
        };
        parameters.insert(name, Value::String(value));
    }
    parameters
}

/// Which bodies API Gateway passes on as they are; all others go as base64.
fn is_text(content_type: Option<&str>) -> bool {
    let Some(content_type) = content_type else {
        return true;
    };
    let media_type = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    media_type.starts_with("text/")
        || media_type.ends_with("+json")
        || [
            "application/json",
            "application/javascript",
            "application/xml",
        ]
        .contains(&media_type.as_str())
}

/// The answer for the client. `None` if the function gave something that cannot be sent.
pub(super) fn response(answer: &[u8]) -> Option<Response<Body>> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let Some(status) = answer.get("statusCode") else {
        // Anything that is not shaped like a response is the body of one.
        let mut response = Response::new(Body::from(match &answer {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }));
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        return Some(response);
    };
    let status = status.as_u64().or_else(|| status.as_str()?.parse().ok())?;
    let body = match &answer["body"] {
        Value::Null => vec![],
        Value::String(text) if answer["isBase64Encoded"] == true => STANDARD.decode(text).ok()?,
        Value::String(text) => text.clone().into_bytes(),
        other => other.to_string().into_bytes(),
    };
    let mut headers = HeaderMap::new();
    for (name, value) in answer["headers"].as_object().into_iter().flatten() {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let name = HeaderName::try_from(name.as_str()).ok()?;
        // The length is that of the body as it is sent.
        if name != header::CONTENT_LENGTH && name != header::TRANSFER_ENCODING {
            headers.insert(name, HeaderValue::try_from(value).ok()?);
        }
    }
    for cookie in answer["cookies"].as_array().into_iter().flatten() {
        headers.append(
            header::SET_COOKIE,
            HeaderValue::try_from(cookie.as_str()?).ok()?,
        );
    }
    if !body.is_empty() && !headers.contains_key(header::CONTENT_TYPE) {
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain;charset=UTF-8"),
        );
    }
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(u16::try_from(status).ok()?).ok()?;
    *response.headers_mut() = headers;
    Some(response)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn event_of(request: Request<()>, body: &'static [u8]) -> Value {
        let (parts, ()) = request.into_parts();
        let context = Context {
            request_id: "r-1",
            route_key: "POST /v1/tweets",
            path_parameters: Map::new(),
            authorizer: Some(json!({"jwt": {"claims": {"sub": "alice"}, "scopes": null}})),
            client: SocketAddr::from(([127, 0, 0, 1], 5000)),
        };
        event(&parts, &Bytes::from_static(body), context)
    }

    #[test]
    fn a_request_becomes_an_event() {
        let request = Request::post("/v1/tweets?a=1&a=2&b=x%20y")
            .header("Content-Type", "application/json; charset=utf-8")
            .header("Cookie", "c=1; d=2")
            .header("X-Twice", "one")
            .header("X-Twice", "two")
            .body(())
            .expect("a request");
        let event = event_of(request, br#"{"text":"hi"}"#);
        assert_eq!(event["rawQueryString"], "a=1&a=2&b=x%20y");
        assert_eq!(
            event["queryStringParameters"],
            json!({"a": "1,2", "b": "x y"})
        );
        assert_eq!(event["cookies"], json!(["c=1", "d=2"]));
        assert_eq!(event["headers"]["x-twice"], "one,two");
        assert_eq!(event["body"], r#"{"text":"hi"}"#);
        assert_eq!(event["isBase64Encoded"], false);
        assert_eq!(event["requestContext"]["http"]["method"], "POST");
        assert_eq!(
            event["requestContext"]["authorizer"]["jwt"]["claims"]["sub"],
            "alice"
        );
        assert_eq!(event.get("pathParameters"), None);
    }

    #[test]
    fn a_body_that_is_not_text_goes_as_base64() {
        let request = Request::post("/")
            .header("Content-Type", "image/png")
            .body(())
            .expect("a request");
        let event = event_of(request, b"png");
        assert_eq!(
            (&event["body"], &event["isBase64Encoded"]),
            (&json!("cG5n"), &json!(true))
        );
    }

    #[test]
    fn an_answer_becomes_a_response() {
        let shaped = response(br#"{"statusCode":201,"headers":{"Location":"/x"},"cookies":["a=1"],"body":"aGk=","isBase64Encoded":true}"#)
            .expect("a response");
        assert_eq!(shaped.status(), 201);
        assert_eq!(shaped.headers()["location"], "/x");
        assert_eq!(shaped.headers()["set-cookie"], "a=1");
        let plain = response(br#"{"hello":"world"}"#).expect("a response");
        assert_eq!(
            (plain.status().as_u16(), &plain.headers()["content-type"]),
            (200, &HeaderValue::from_static("application/json"))
        );
        for unusable in [
            &b"no json"[..],
            br#"{"statusCode":"many"}"#,
            br#"{"statusCode":200,"body":"%","isBase64Encoded":true}"#,
        ] {
            assert!(response(unusable).is_none());
        }
    }
}
