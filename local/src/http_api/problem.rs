//! Errors that the gateway itself makes.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::log::Reason;

/// As API Gateway says it: a message that tells nothing. The terminal shows the reason.
pub(super) fn refusal(status: StatusCode, reason: &str) -> Response {
    let message = status.canonical_reason().unwrap_or("Error");
    let body = json!({ "message": message }).to_string();
    let mut response = (status, [content_type("application/json")], body).into_response();
    response.extensions_mut().insert(Reason(reason.to_owned()));
    response
}

/// What is not there on AWS speaks as the functions do (RFC 9457).
pub(super) fn problem(status: StatusCode, detail: &str) -> Response {
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Error"),
        "status": status.as_u16(),
        "detail": detail,
    });
    let content_type = content_type("application/problem+json");
    (status, [content_type], body.to_string()).into_response()
}

fn content_type(kind: &'static str) -> (header::HeaderName, HeaderValue) {
    (header::CONTENT_TYPE, HeaderValue::from_static(kind))
}
