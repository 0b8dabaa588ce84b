//! The HTTP API: routes of the template with API Gateway's payload and JWT authorizer, and what is not there on AWS: the
//! local token issuer and other helps ([`dev`]), the page ([`page`]), `/healthz`, and the document of the API ([`docs`]).
//! [`log`] writes one line for each request.

mod cors;
mod dev;
mod docs;
mod log;
mod page;
mod payload;
mod problem;
mod routing;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use dynoxide::Database;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use uuid::Uuid;

pub(crate) use self::cors::LOCAL_ORIGINS;
pub(crate) use self::page::Page;

use self::log::{Caller, RouteKey};
use self::payload::Context;
use self::problem::{problem, refusal};
use self::routing::Routes;
use crate::jwt::{Issuer, Refusal, bearer, claims_as_texts};
use crate::lambda::{Function, InvokeError, Lambda, Trigger};
use crate::net::without_delay;
use crate::output::{complain, say};
use crate::template::{Authorizer, Cors, Stack};

/// API Gateway's limit on a request.
const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;
/// How long a request waits for a free sandbox before it is told to come back.
const QUEUE_LIMIT: Duration = Duration::from_secs(25);
/// API Gateway gives a function half a minute, whatever its own timeout.
const INTEGRATION_LIMIT: Duration = Duration::from_secs(30);

/// The header in which API Gateway numbers every answer, also those that no function gave.
const REQUEST_ID: HeaderName = HeaderName::from_static("apigw-requestid");

/// Everything behind the port, once it is there.
pub(crate) struct Gateway {
    routes: Routes<Target>,
    cors: Option<Cors>,
    /// What `/dev/settings` tells.
    settings: Value,
    services: Services,
}

/// What the gateway has from others.
pub(crate) struct Services {
    pub(crate) issuer: Issuer,
    pub(crate) lambda: Arc<Lambda>,
    pub(crate) page: Page,
    /// The tables.
    pub(crate) database: Database,
    pub(crate) redis_port: u16,
    /// What `/healthz` tells: URL by service.
    pub(crate) endpoints: Value,
}

struct Target {
    function: Arc<Function>,
    authorizer: Option<Authorizer>,
    scopes: Vec<String>,
}

impl Gateway {
    pub(crate) fn new(stack: &Stack, services: Services) -> Self {
        let mut routes = Vec::new();
        for (function, route) in stack
            .functions
            .iter()
            .flat_map(|function| function.routes.iter().map(move |route| (function, route)))
        {
            let Some(api) = stack.apis.get(&route.api) else {
                continue;
            };
            let name = route
                .authorizer
                .as_ref()
                .or(api.default_authorizer.as_ref());
            let authorizer = name.and_then(|name| api.authorizers.get(name)).cloned();
            let Some(function) = services.lambda.function(&function.logical_id) else {
                continue;
            };
            let target = Target {
                function: Arc::clone(function),
                authorizer,
                scopes: route.scopes.clone(),
            };
            routes.push((route.method.clone(), route.path.clone(), target));
        }
        let cors = stack.apis.values().find_map(|api| api.cors.clone());
        Self {
            routes: Routes::new(routes),
            cors,
            settings: settings(stack),
            services,
        }
    }
}

/// The template's parameters by their names in snake case, and the functions.
fn settings(stack: &Stack) -> Value {
    let mut settings = stack.parameters.clone();
    let functions = stack.functions.iter().map(|function| &function.binary);
    let functions: BTreeSet<&String> = functions.collect();
    settings.insert("functions".to_owned(), json!(functions));
    Value::Object(settings)
}

/// Empty until everything is up; until then every request gets a 503.
pub(crate) type Ready = Arc<OnceLock<Gateway>>;

pub(crate) async fn serve(listener: TcpListener, ready: Ready) {
    let router = Router::new()
        .route("/healthz", get(health))
        .route(
            "/.well-known/openid-configuration",
            get(openid_configuration),
        )
        .route("/.well-known/jwks.json", get(key_set))
        .merge(dev::routes())
        .merge(docs::routes())
        .fallback(call)
        .method_not_allowed_fallback(|| async { not_found() })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(axum::middleware::from_fn_with_state(
            Arc::clone(&ready),
            cors::cors,
        ))
        .layer(axum::middleware::from_fn(log::log))
        .with_state(ready);
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    if let Err(error) = axum::serve(without_delay(listener), service).await {
        say(format!("the HTTP API ended: {error}"));
    }
}

async fn health(State(ready): State<Ready>) -> Response {
    match ready.get() {
        Some(gateway) => {
            Json(json!({"status": "ok", "endpoints": gateway.services.endpoints})).into_response()
        }
        None => starting(),
    }
}

fn starting() -> Response {
    problem(StatusCode::SERVICE_UNAVAILABLE, "The system is starting.")
}

fn not_found() -> Response {
    refusal(StatusCode::NOT_FOUND, "There is no such route.")
}

async fn openid_configuration(State(ready): State<Ready>) -> Response {
    ready.get().map_or_else(starting, |gateway| {
        Json(gateway.services.issuer.openid_configuration()).into_response()
    })
}

async fn key_set(State(ready): State<Ready>) -> Response {
    ready.get().map_or_else(starting, |gateway| {
        Json(gateway.services.issuer.key_set()).into_response()
    })
}

/// A request for a function.
async fn call(
    State(ready): State<Ready>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let Some(gateway) = ready.get() else {
        return starting();
    };
    let (method, path) = (request.method(), request.uri().path());
    if matches!(*method, Method::GET | Method::HEAD)
        && gateway.routes.find(method.as_str(), path).is_none()
        && let Some(answer) = gateway.services.page.answer(path).await
    {
        return answer;
    }
    let request_id = Uuid::new_v4().to_string();
    let mut response = forward(gateway, client, request, &request_id).await;
    if let Ok(value) = HeaderValue::try_from(request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

async fn forward(
    gateway: &Gateway,
    client: SocketAddr,
    request: Request,
    request_id: &str,
) -> Response {
    let (parts, body) = request.into_parts();
    let Some(route) = gateway.routes.find(parts.method.as_str(), parts.uri.path()) else {
        return not_found();
    };
    let route_key = RouteKey(route.key.clone());
    let authorizer = match &route.target.authorizer {
        None => None,
        Some(authorizer) => {
            match authorize(
                &gateway.services.issuer,
                authorizer,
                &parts,
                &route.target.scopes,
            ) {
                Ok(claims) => Some(claims),
                Err(mut response) => {
                    response.extensions_mut().insert(route_key);
                    return response;
                }
            }
        }
    };
    let caller = authorizer
        .as_ref()
        .and_then(|authorizer| authorizer["jwt"]["claims"]["sub"].as_str())
        .map(|subject| Caller(subject.to_owned()));
    let context = Context {
        request_id,
        route_key: &route.key,
        path_parameters: route.path_parameters,
        authorizer,
        client,
    };
    let mut response = invoke(&parts, body, &route.target.function, context).await;
    response.extensions_mut().insert(route_key);
    if let Some(caller) = caller {
        response.extensions_mut().insert(caller);
    }
    response
}

async fn invoke(
    parts: &Parts,
    body: Body,
    function: &Arc<Function>,
    context: Context<'_>,
) -> Response {
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY_BYTES).await else {
        return refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            "The body is larger than 10 MB.",
        );
    };
    let route_key = context.route_key;
    let event = Bytes::from(payload::event(parts, &body, context).to_string());
    let invocation = function.invoke(event, Trigger::Http, Some(QUEUE_LIMIT));
    let answer = tokio::time::timeout(INTEGRATION_LIMIT, invocation).await;
    let failed = || {
        refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The request could not be completed.",
        )
    };
    match answer {
        Ok(Ok(answer)) => payload::response(&answer).map_or_else(
            || {
                complain(
                    &function.binary,
                    "gave an answer that is not an HTTP response",
                );
                failed()
            },
            |response| response.map(Body::new),
        ),
        Ok(Err(InvokeError::Busy)) | Err(_) => refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "The system is busy; try again later.",
        ),
        Ok(Err(error)) => {
            complain(&function.binary, format!("failed on {route_key}: {error}"));
            failed()
        }
    }
}

/// What the function is told about the caller, or the refusal.
#[expect(
    clippy::result_large_err,
    reason = "the error is the response, and is sent at once"
)]
fn authorize(
    issuer: &Issuer,
    authorizer: &Authorizer,
    request: &Parts,
    scopes: &[String],
) -> Result<Value, Response> {
    let claims = identity(&authorizer.identity_source, request)
        .ok_or(Refusal::Missing)
        .and_then(|source| bearer(&source).and_then(|token| issuer.check(token, authorizer)))
        .map_err(|why| unauthorized(&why))?;
    let granted: Vec<&str> = ["scope", "scp"]
        .iter()
        .filter_map(|claim| claims.get(*claim))
        .flat_map(|value| match value {
            Value::String(text) => text.split(' ').collect(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        })
        .collect();
    let needed: Vec<&String> = scopes
        .iter()
        .filter(|scope| granted.contains(&scope.as_str()))
        .collect();
    if !scopes.is_empty() && needed.is_empty() {
        return Err(refusal(
            StatusCode::FORBIDDEN,
            "The token lacks the scope that this route needs.",
        ));
    }
    let scopes = if scopes.is_empty() {
        Value::Null
    } else {
        json!(needed)
    };
    Ok(json!({"jwt": {"claims": claims_as_texts(&claims), "scopes": scopes}}))
}

/// Where the token is: `$request.header.Authorization` or `$request.querystring.token`.
fn identity(source: &str, request: &Parts) -> Option<String> {
    if let Some(name) = source.strip_prefix("$request.header.") {
        let value = request.headers.get(name.to_ascii_lowercase())?;
        return Some(String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    let name = source.strip_prefix("$request.querystring.")?;
    payload::query_parameters(request.uri.query()?)
        .get(name)?
        .as_str()
        .map(str::to_owned)
}

fn unauthorized(why: &Refusal) -> Response {
    let mut response = refusal(StatusCode::UNAUTHORIZED, &why.to_string());
    let challenge = match why {
        Refusal::Missing => "Bearer".to_owned(),
        refused => {
            format!("Bearer scope=\"\" error=\"invalid_token\" error_description=\"{refused}\"")
        }
    };
    if let Ok(challenge) = HeaderValue::try_from(challenge) {
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
