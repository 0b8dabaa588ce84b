//! Lambda's Invoke API, so that `aws lambda invoke` and `cargo lambda invoke` reach the functions from outside.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;
use uuid::Uuid;

use super::{Function, InvokeError, Lambda, Trigger};
use crate::net::without_delay;
use crate::output::{complain, say};

/// Lambda tries an asynchronous event twice more.
const ASYNC_RETRIES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

pub(crate) async fn serve(listener: TcpListener, lambda: Arc<Lambda>) {
    let router = Router::new()
        .route("/2015-03-31/functions/{name}/invocations", post(invoke))
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(6 * 1024 * 1024))
        .with_state(lambda);
    if let Err(error) = axum::serve(without_delay(listener), router).await {
        say(format!("the Invoke API ended: {error}"));
    }
}

async fn invoke(
    State(lambda): State<Arc<Lambda>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    payload: Bytes,
) -> Response {
    // `name:qualifier`: there is only one version here.
    let name = if name.starts_with("arn:") {
        name
    } else {
        name.split(':').next().unwrap_or_default().to_owned()
    };
    let Some(function) = lambda.find(&name) else {
        let message = format!("Function not found: {name}");
        return refusal(StatusCode::NOT_FOUND, "ResourceNotFoundException", &message);
    };
    let payload = if payload.is_empty() {
        Bytes::from_static(b"{}")
    } else {
        payload
    };
    let request_id = (
        HeaderName::from_static("x-amzn-requestid"),
        Uuid::new_v4().to_string(),
    );
    match headers
        .get("x-amz-invocation-type")
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("RequestResponse")
    {
        "Event" => {
            let function = Arc::clone(function);
            tokio::spawn(invoke_asynchronously(function, payload, Trigger::Invoke));
            (StatusCode::ACCEPTED, [request_id]).into_response()
        }
        "DryRun" => (StatusCode::NO_CONTENT, [request_id]).into_response(),
        "RequestResponse" => {
            let version = (
                HeaderName::from_static("x-amz-executed-version"),
                "$LATEST".to_owned(),
            );
            match function.invoke(payload, Trigger::Invoke, None).await {
                Ok(answer) => ([request_id, version], answer).into_response(),
                Err(error) => {
                    let failed = (
                        HeaderName::from_static("x-amz-function-error"),
                        "Unhandled".to_owned(),
                    );
                    ([request_id, version, failed], error_document(&error)).into_response()
                }
            }
        }
        other => {
            let message = format!("there is no invocation type {other}");
            refusal(
                StatusCode::BAD_REQUEST,
                "InvalidParameterValueException",
                &message,
            )
        }
    }
}

async fn unknown() -> Response {
    refusal(
        StatusCode::NOT_FOUND,
        "UnknownOperationException",
        "only Invoke is served here",
    )
}

/// An invocation that nobody waits for: tried again twice, then its event is gone.
pub(crate) async fn invoke_asynchronously(
    function: Arc<Function>,
    payload: Bytes,
    trigger: Trigger,
) {
    for pause in ASYNC_RETRIES {
        match function.invoke(payload.clone(), trigger, None).await {
            Ok(_) => return,
            Err(error) => complain(
                &function.binary,
                format!("failed on an asynchronous event: {error}"),
            ),
        }
        tokio::time::sleep(pause).await;
    }
    if let Err(error) = function.invoke(payload, trigger, None).await {
        complain(
            &function.binary,
            format!("failed on an asynchronous event for the last time: {error}"),
        );
    }
}

/// The payload of a failed invocation: the function's own words, or Lambda's.
fn error_document(error: &InvokeError) -> Bytes {
    let kind = match error {
        InvokeError::Function { document } => return document.clone(),
        InvokeError::TimedOut { .. } => "Sandbox.Timedout",
        InvokeError::Died { .. } => "Runtime.ExitError",
        InvokeError::Init { .. } => "Runtime.InitError",
        InvokeError::Busy => "TooManyRequestsException",
    };
    Bytes::from(json!({"errorType": kind, "errorMessage": error.to_string()}).to_string())
}

fn refusal(status: StatusCode, kind: &'static str, message: &str) -> Response {
    let headers = [("x-amzn-errortype", kind)];
    (
        status,
        headers,
        Json(json!({"Type": "User", "Message": message})),
    )
        .into_response()
}
