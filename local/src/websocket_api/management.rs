//! `@connections`: how functions send to a connection, look at it and end it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

use super::connections::{Connection, End, Gone};
use super::{MAX_MESSAGE_BYTES, WebSocketGateway};

/// What functions sign their requests with. Nobody else may send to a connection, even if its id is known.
pub(crate) const ACCESS_KEY: &str = "local";
const SIGNATURE: &str = "AWS4-HMAC-SHA256 Credential=";

pub(super) async fn manage(
    State(gateway): State<Arc<WebSocketGateway>>,
    Path((stage, id)): Path<(String, String)>,
    request: Request,
) -> Response {
    if let Err(message) = check_signature(request.headers()) {
        return refusal(StatusCode::FORBIDDEN, "ForbiddenException", message);
    }
    if stage != gateway.stage {
        return refusal(StatusCode::FORBIDDEN, "ForbiddenException", "Forbidden");
    }
    let connection = gateway.connections.get(&id);
    let done = match (connection, request.method().clone()) {
        (Ok(connection), Method::POST) => post(&connection, request).await,
        (Ok(connection), Method::GET) => Ok(describe(&connection)),
        (Ok(connection), Method::DELETE) => {
            connection.end(End::new(1000, "Connection Closed Normally"));
            gateway.connections.remove(&id);
            Ok(StatusCode::NO_CONTENT.into_response())
        }
        (Ok(_), _) => {
            let message = "Missing Authentication Token";
            let status = StatusCode::FORBIDDEN;
            Ok(refusal(
                status,
                "MissingAuthenticationTokenException",
                message,
            ))
        }
        (Err(gone), _) => Err(gone),
    };
    done.unwrap_or_else(|Gone| refusal(StatusCode::GONE, "GoneException", "Gone"))
}

/// A request that names the access key may send. Its signature is not checked: everybody on this machine knows the secret.
fn check_signature(headers: &HeaderMap) -> Result<(), &'static str> {
    let signature = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix(SIGNATURE))
        .ok_or("Missing Authentication Token")?;
    match signature.split_once('/') {
        Some((ACCESS_KEY, _)) => Ok(()),
        _ => Err("The security token included in the request is invalid."),
    }
}

async fn post(connection: &Connection, request: Request) -> Result<Response, Gone> {
    let Ok(body) = axum::body::to_bytes(request.into_body(), MAX_MESSAGE_BYTES).await else {
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        let message = "Message too long";
        return Ok(refusal(status, "PayloadTooLargeException", message));
    };
    // Frames are texts: what is not UTF-8 is replaced by U+FFFD, as API Gateway does.
    connection.send(String::from_utf8_lossy(&body).into_owned())?;
    Ok(StatusCode::OK.into_response())
}

fn describe(connection: &Connection) -> Response {
    let time = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
    let client = &connection.client;
    Json(json!({
        "connectedAt": time(connection.connected_at),
        "identity": {"sourceIp": client.source_ip, "userAgent": client.user_agent},
        "lastActiveAt": time(connection.last_active_at()),
    }))
    .into_response()
}

fn refusal(status: StatusCode, kind: &'static str, message: &str) -> Response {
    let headers = [("x-amzn-ErrorType", kind)];
    (status, headers, Json(json!({ "message": message }))).into_response()
}
