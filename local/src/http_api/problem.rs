//! Errors that the gateway itself makes, as RFC 9457 problems.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

pub(super) fn problem(status: StatusCode, detail: &str) -> Response {
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Error"),
        "status": status.as_u16(),
        "detail": detail,
    });
    let content_type = [(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    )];
    (status, content_type, body.to_string()).into_response()
}
