//! The Lambda Runtime API, 2018-06-01: what a sandbox asks for work and answers to. All sandboxes share one port; the
//! first part of the path says which one is calling.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;
use uuid::Uuid;

use super::sandbox::{Answer, Sandboxes};
use crate::net::without_delay;
use crate::output::say;

pub(super) async fn serve(listener: TcpListener, sandboxes: Arc<Sandboxes>) {
    let router = Router::new()
        .route("/{sandbox}/2018-06-01/runtime/invocation/next", get(next))
        .route(
            "/{sandbox}/2018-06-01/runtime/invocation/{request_id}/response",
            post(response),
        )
        .route(
            "/{sandbox}/2018-06-01/runtime/invocation/{request_id}/error",
            post(error),
        )
        .route("/{sandbox}/2018-06-01/runtime/init/error", post(init_error))
        // An answer may have 6 MB. The HTTP API or the caller refuses a larger one, not this server.
        .layer(DefaultBodyLimit::max(16 * 1024 * 1024))
        .with_state(sandboxes);
    if let Err(error) = axum::serve(without_delay(listener), router).await {
        say(format!("the runtime API ended: {error}"));
    }
}

async fn next(State(sandboxes): State<Arc<Sandboxes>>, Path(sandbox): Path<u64>) -> Response {
    let Some(sandbox) = sandboxes.get(sandbox) else {
        return StatusCode::GONE.into_response();
    };
    let Some((request_id, payload, deadline_ms, function_arn)) = sandbox.next_invocation().await
    else {
        return StatusCode::GONE.into_response();
    };
    let id = Uuid::new_v4().simple().to_string();
    let trace = format!(
        "Root=1-{:08x}-{};Parent={};Sampled=0",
        deadline_ms / 1000,
        &id[..24],
        &id[..16]
    );
    let headers = [
        ("lambda-runtime-aws-request-id", request_id.to_string()),
        ("lambda-runtime-deadline-ms", deadline_ms.to_string()),
        ("lambda-runtime-invoked-function-arn", function_arn),
        ("lambda-runtime-trace-id", trace),
        ("content-type", "application/json".to_owned()),
    ];
    (headers, payload).into_response()
}

async fn response(
    State(sandboxes): State<Arc<Sandboxes>>,
    Path((sandbox, request_id)): Path<(u64, String)>,
    body: Bytes,
) -> Response {
    accept(&sandboxes, sandbox, &request_id, Answer::Response(body))
}

async fn error(
    State(sandboxes): State<Arc<Sandboxes>>,
    Path((sandbox, request_id)): Path<(u64, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = if body.is_empty() {
        let kind = headers
            .get("lambda-runtime-function-error-type")
            .and_then(|kind| kind.to_str().ok());
        Bytes::from(
            json!({"errorType": kind.unwrap_or("Unhandled"), "errorMessage": ""}).to_string(),
        )
    } else {
        body
    };
    accept(&sandboxes, sandbox, &request_id, Answer::Error(body))
}

fn accept(sandboxes: &Sandboxes, sandbox: u64, request_id: &str, answer: Answer) -> Response {
    if sandboxes
        .get(sandbox)
        .is_some_and(|sandbox| sandbox.answer(request_id, answer))
    {
        (StatusCode::ACCEPTED, Json(json!({"status": "OK"}))).into_response()
    } else {
        let problem = json!({"errorType": "InvalidRequestID", "errorMessage": "no such invocation is running"});
        (StatusCode::BAD_REQUEST, Json(problem)).into_response()
    }
}

/// Says why a process cannot start. The process ends after this, and that fails its invocation.
async fn init_error(body: Bytes) -> Response {
    say(format!(
        "a function could not start: {}",
        String::from_utf8_lossy(&body)
    ));
    (StatusCode::ACCEPTED, Json(json!({"status": "OK"}))).into_response()
}
