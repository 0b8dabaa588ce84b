//! One line in the terminal for every request that a client makes, and an event for every one that has a route.

use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use serde_json::Value;

use crate::events::{self, Event, milliseconds};
use crate::output;

/// What machines ask for: probes, tests and token checks.
const NOT_LOGGED: [&str; 4] = [
    "/healthz",
    "/dev/sandboxes",
    "/.well-known/openid-configuration",
    "/.well-known/jwks.json",
];

/// Goes with a response and says whose token came with the request.
#[derive(Clone)]
pub(super) struct Caller(pub(super) String);

/// Goes with a response and says which route of the template the request took: `GET /v1/users/{id}`.
#[derive(Clone)]
pub(super) struct RouteKey(pub(super) String);

/// Goes with a response and says more about a refusal than its body does.
#[derive(Clone)]
pub(super) struct Reason(pub(super) String);

pub(super) async fn log(request: Request, next: Next) -> Response {
    if NOT_LOGGED.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let started = Instant::now();
    let method = request.method().to_string();
    let target = request.uri().path_and_query().map_or_else(
        || request.uri().path().to_owned(),
        |target| target.as_str().to_owned(),
    );
    let mut response = next.run(request).await;
    let took = started.elapsed();
    let caller = response.extensions_mut().remove::<Caller>();
    let caller = caller.map(|Caller(subject)| subject);
    let route = response.extensions_mut().remove::<RouteKey>();
    let mut reason = response
        .extensions_mut()
        .remove::<Reason>()
        .map(|Reason(reason)| reason);
    if reason.is_none() && is_problem(&response) {
        let (parts, body) = response.into_parts();
        // The body is in memory already, and small.
        let body = axum::body::to_bytes(body, usize::MAX)
            .await
            .unwrap_or_default();
        reason = detail(&body);
        response = Response::from_parts(parts, Body::from(body));
    }
    let status = response.status().as_u16();
    if let Some(RouteKey(route)) = route {
        events::tell(|| Event::Request {
            method: method.clone(),
            route,
            status,
            ms: milliseconds(took),
            caller: caller.clone(),
        });
    }
    output::tell(&output::Request {
        method,
        target,
        status,
        took,
        caller,
        reason,
    });
    response
}

fn is_problem(response: &Response) -> bool {
    response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/problem+json"))
}

/// What a problem says: its detail, and what is wrong with each field.
fn detail(body: &Bytes) -> Option<String> {
    let problem: Value = serde_json::from_slice(body).ok()?;
    let mut said = problem["detail"].as_str()?.to_owned();
    for error in problem["errors"].as_array().into_iter().flatten() {
        let text = |key: &str| error[key].as_str();
        let place = ["pointer", "parameter", "header"]
            .into_iter()
            .find_map(text);
        let (place, detail) = (
            place.unwrap_or_default(),
            text("detail").unwrap_or_default(),
        );
        said.push_str(&format!("  {place}: {detail}"));
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_its_detail_and_every_wrong_field() {
        let said = |body: &str| detail(&Bytes::from(body.to_owned()));
        assert_eq!(
            said(r#"{"detail":"No such user."}"#).as_deref(),
            Some("No such user.")
        );
        let several = r##"{"detail":"Two fields are wrong.","errors":[{"pointer":"/name","detail":"too long"},{"parameter":"limit","detail":"taken"}]}"##;
        assert_eq!(
            said(several).as_deref(),
            Some("Two fields are wrong.  /name: too long  limit: taken")
        );
        assert_eq!(said("not JSON"), None);
    }
}
