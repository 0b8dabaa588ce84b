//! The WebSocket API of the template, as API Gateway serves it: connections, messages, and the API that sends to them.
//!
//! - [`handshake`] reads the request that becomes a socket, and [`authorizer`] asks a function whether it may.
//! - [`connections`] knows who is connected; [`session`] runs one connection until its end.
//! - [`routes`] chooses the function of a message and runs it; [`event`] is what the function is told.
//! - [`management`] is `@connections`, by which functions send.

mod authorizer;
mod connections;
mod event;
mod handshake;
mod management;
mod routes;
mod session;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use chrono::Utc;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use self::authorizer::Authorizer;
use self::connections::{Client, Connection, Connections, End, random_id};
use self::handshake::Handshake;
pub(crate) use self::management::ACCESS_KEY;
use self::routes::{Failure, Routes, invoke};
use crate::lambda::Lambda;
use crate::net::without_delay;
use crate::output::{self, say};
use crate::template::WebSocketApi;

/// API Gateway's limits on what a client sends, and on a message to a client.
const MAX_FRAME_BYTES: usize = 32 * 1024;
const MAX_MESSAGE_BYTES: usize = 128 * 1024;

/// The routes that API Gateway itself calls.
const CONNECT: &str = "$connect";
const DISCONNECT: &str = "$disconnect";

/// How long a connection may last.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Without a frame in either direction.
    idle: Duration,
    lifetime: Duration,
}

impl Limits {
    const API_GATEWAY: Self = Self {
        idle: Duration::from_secs(10 * 60),
        lifetime: Duration::from_secs(2 * 60 * 60),
    };
}

/// Everything behind the port.
pub(crate) struct WebSocketGateway {
    stage: String,
    authorizer: Option<Authorizer>,
    routes: Routes,
    connections: Connections,
    limits: Limits,
}

impl WebSocketGateway {
    pub(crate) fn new(api: &WebSocketApi, lambda: &Lambda) -> Self {
        Self {
            stage: api.stage.clone(),
            authorizer: Authorizer::new(api, lambda),
            routes: Routes::new(api, lambda),
            connections: Connections::default(),
            limits: Limits::API_GATEWAY,
        }
    }
}

/// Without an API in the template, there is nothing at the port.
pub(crate) async fn serve(listener: TcpListener, gateway: Option<Arc<WebSocketGateway>>) {
    let router = match gateway {
        None => Router::new(),
        Some(gateway) => Router::new()
            .route("/{stage}/@connections/{id}", any(management::manage))
            .fallback(open)
            .with_state(gateway),
    };
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    if let Err(error) = axum::serve(without_delay(listener), service).await {
        say(format!("the WebSocket API ended: {error}"));
    }
}

/// A request that wants to become a WebSocket.
async fn open(
    State(gateway): State<Arc<WebSocketGateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    // In a task of its own: if the client goes away while functions are asked, `$disconnect` must still follow `$connect`.
    let opening = tokio::spawn(open_now(gateway, peer, request));
    opening
        .await
        .unwrap_or_else(|_| message(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error"))
}

async fn open_now(
    gateway: Arc<WebSocketGateway>,
    peer: SocketAddr,
    mut request: Request,
) -> Response {
    let started = Instant::now();
    let path = request.uri().path();
    let stage = path.strip_prefix('/').unwrap_or(path);
    if stage.strip_suffix('/').unwrap_or(stage) != gateway.stage {
        let why = format!("the path is not /{}", gateway.stage);
        tell(CONNECT, StatusCode::FORBIDDEN, started, None, Some(why));
        return message(StatusCode::FORBIDDEN, "Forbidden");
    }
    let Some(handshake) = Handshake::read(&mut request) else {
        let why = Some("the request does not ask for a WebSocket".to_owned());
        tell(CONNECT, StatusCode::UPGRADE_REQUIRED, started, None, why);
        return message(StatusCode::UPGRADE_REQUIRED, "Upgrade Required");
    };
    let (parts, _) = request.into_parts();
    let (connection, outbox) = match gateway.admit(&parts, peer).await {
        Ok(admitted) => admitted,
        Err(refusal) => {
            let why = Some(refusal.why.clone());
            tell(CONNECT, refusal.status, started, None, why);
            return refusal.into_response();
        }
    };
    let status = StatusCode::SWITCHING_PROTOCOLS;
    tell(CONNECT, status, started, connection.principal(), None);
    // From here on functions may send to it. What they send before the socket is there waits in the outbox.
    let connection = Arc::new(connection);
    gateway.connections.add(Arc::clone(&connection));
    let (response, upgrade) = handshake.accept();
    tokio::spawn(async move {
        let end = session::run(&gateway, &connection, outbox, upgrade).await;
        gateway.disconnect(&connection, &end).await;
    });
    response
}

/// Why nobody was connected.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    connection_id: String,
    request_id: String,
    /// For the terminal. The client learns no more than the status says.
    why: String,
}

/// A connection, and what is to be sent on it.
type Admitted = (Connection, mpsc::Receiver<Utf8Bytes>);

impl WebSocketGateway {
    /// Asks the authorizer, then `$connect`.
    async fn admit(&self, request: &Parts, peer: SocketAddr) -> Result<Admitted, Refusal> {
        let text_of = |name: HeaderName| {
            let value = request.headers.get(name);
            let text = value.and_then(|value| value.to_str().ok());
            text.unwrap_or_default().to_owned()
        };
        let client = Client {
            source_ip: peer.ip(),
            user_agent: text_of(header::USER_AGENT),
            domain: text_of(header::HOST),
            authorizer: None,
        };
        let (mut connection, outbox) = Connection::new(random_id(), client, Utc::now());
        if let Some(authorizer) = &self.authorizer {
            let event = event::authorize(request, &connection, &self.stage);
            if let Some(source) = authorizer.missing(request) {
                let why = format!("{source} is missing");
                let status = StatusCode::UNAUTHORIZED;
                return Err(Refusal::new(status, &connection, &event, why));
            }
            let refuse = |status| {
                let why = "the authorizer refused".to_owned();
                Refusal::new(status, &connection, &event, why)
            };
            let told = authorizer.ask(&event, &self.stage).await;
            connection.client.authorizer = Some(told.map_err(refuse)?);
        }
        if let Some(route) = self.routes.get(CONNECT) {
            let event = event::connect(request, &connection, &self.stage);
            let answer = invoke(&route.function, &event, route.timeout, CONNECT).await;
            let status = match answer {
                Ok((status, _)) => StatusCode::from_u16(status).ok(),
                Err(Failure::TimedOut) => Some(StatusCode::GATEWAY_TIMEOUT),
                Err(Failure::Failed(_)) => None,
            };
            // A status below 200 would leave the client waiting for another one.
            let status = status
                .filter(|status| !status.is_informational())
                .unwrap_or(StatusCode::BAD_GATEWAY);
            if !status.is_success() {
                let why = "$connect refused".to_owned();
                return Err(Refusal::new(status, &connection, &event, why));
            }
        }
        Ok((connection, outbox))
    }

    /// A client's message: to its function, and the answer back if the route has one.
    async fn message(&self, connection: &Connection, text: &str) {
        let started = Instant::now();
        let caller = connection.principal();
        let Some((key, route)) = self.routes.select(text) else {
            tell("no route", StatusCode::FORBIDDEN, started, caller, None);
            // A client that is gone does not need the answer. The same below.
            let _ = connection.send(error("Forbidden", &connection.id, &random_id()));
            return;
        };
        let event = event::message(key, text, connection, &self.stage);
        let answer = match invoke(&route.function, &event, route.timeout, key).await {
            Ok((status, answer)) => {
                let status = StatusCode::from_u16(status).unwrap_or_default();
                tell(key, status, started, caller, None);
                route.answers.then(|| body_of(&answer)).flatten()
            }
            Err(_) => {
                tell(
                    key,
                    StatusCode::INTERNAL_SERVER_ERROR,
                    started,
                    caller,
                    None,
                );
                let message = "Internal server error";
                Some(error(message, &connection.id, &event.request_id))
            }
        };
        if let Some(answer) = answer {
            let _ = connection.send(answer);
        }
    }

    /// The socket is closed: `$disconnect` is told once, whatever comes of it.
    async fn disconnect(&self, connection: &Connection, end: &End) {
        let started = Instant::now();
        let mut status = StatusCode::OK;
        if let Some(route) = self.routes.get(DISCONNECT) {
            let event = event::disconnect(end, connection, &self.stage);
            let answer = invoke(&route.function, &event, route.timeout, DISCONNECT).await;
            status = answer
                .ok()
                .and_then(|(status, _)| StatusCode::from_u16(status).ok())
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        }
        // Without the reason, which may be the client's own words.
        let why = format!("closed with {}", end.code);
        tell(
            DISCONNECT,
            status,
            started,
            connection.principal(),
            Some(why),
        );
    }
}

impl Refusal {
    fn new(status: StatusCode, connection: &Connection, event: &event::Event, why: String) -> Self {
        Self {
            status,
            connection_id: connection.id.clone(),
            request_id: event.request_id.clone(),
            why,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let message = match self.status {
            StatusCode::UNAUTHORIZED => "Unauthorized",
            StatusCode::FORBIDDEN => "Forbidden",
            status if status.is_server_error() => "Internal server error",
            status => status.canonical_reason().unwrap_or("Refused"),
        };
        let headers = [(header::CONTENT_TYPE, "application/json")];
        let body = error(message, &self.connection_id, &self.request_id);
        (self.status, headers, body).into_response()
    }
}

/// What a function answers to the client. `None`: nothing.
fn body_of(answer: &Value) -> Option<String> {
    match &answer["body"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        other => Some(other.to_string()),
    }
}

/// An error as API Gateway tells it to a client.
fn error(message: &str, connection_id: &str, request_id: &str) -> String {
    json!({"message": message, "connectionId": connection_id, "requestId": request_id}).to_string()
}

fn message(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "message": message }))).into_response()
}

/// A line in the terminal. It never has the query, which holds the ticket, and never a message.
fn tell(
    what: &str,
    status: StatusCode,
    started: Instant,
    caller: Option<&str>,
    reason: Option<String>,
) {
    output::tell(&output::Request {
        method: "WS".to_owned(),
        target: what.to_owned(),
        status: status.as_u16(),
        took: started.elapsed(),
        caller: caller.map(str::to_owned),
        reason,
    });
}

#[cfg(test)]
mod tests;
