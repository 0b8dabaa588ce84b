//! What the local cloud offers to those who develop, below `/dev`: tokens for everybody, who is there, what happens, and two
//! ways to break something. None of it exists in a deployment.

mod people;

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{RawQuery, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event as ServerSent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};

use super::log::Caller;
use super::problem::problem;
use super::{Ready, cors, payload, starting};
use crate::data::flush;
use crate::events::{self, Event};

/// How often a silent stream of events says that it is still there.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(super) fn routes() -> Router<Ready> {
    // A page of another site could send these unseen, because a browser sends a simple POST without asking first.
    let breaking = Router::new()
        .route("/dev/flush", post(empty_redis))
        .route("/dev/kill", post(kill))
        .route_layer(middleware::from_fn(refuse_other_sites));
    Router::new()
        .route("/dev/token", post(token))
        .route("/dev/sandboxes", get(sandboxes))
        .route("/dev/people", get(people))
        .route("/dev/settings", get(settings))
        .route("/dev/events", get(listen))
        .merge(breaking)
}

/// A token for everybody who asks: `{"sub": "alice", "expires_in": 3600}`.
async fn token(State(ready): State<Ready>, body: Bytes) -> Response {
    let Some(gateway) = ready.get() else {
        return starting();
    };
    let bad = |detail: &str| problem(StatusCode::BAD_REQUEST, detail);
    let Ok(Value::Object(body)) = serde_json::from_slice(&body) else {
        return bad("The body must be a JSON object such as {\"sub\": \"alice\"}.");
    };
    let Some(subject) = body
        .get("sub")
        .and_then(Value::as_str)
        .filter(|subject| !subject.is_empty())
    else {
        return bad("sub must be a text that is not empty.");
    };
    let expires_in = match body.get("expires_in") {
        None | Some(Value::Null) => 3600,
        Some(seconds) => match seconds.as_i64() {
            Some(seconds) => seconds,
            None => return bad("expires_in must be a whole number of seconds."),
        },
    };
    match gateway.services.issuer.token(subject, expires_in) {
        Some(token) => {
            let caller = Extension(Caller(subject.to_owned()));
            let token =
                json!({"access_token": token, "token_type": "Bearer", "expires_in": expires_in});
            (caller, Json(token)).into_response()
        }
        None => problem(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The token could not be signed.",
        ),
    }
}

async fn sandboxes(State(ready): State<Ready>) -> Response {
    ready.get().map_or_else(starting, |gateway| {
        Json(gateway.services.lambda.sandboxes()).into_response()
    })
}

/// Everybody who has signed up, those with the most followers first: `?limit=200`.
async fn people(State(ready): State<Ready>, RawQuery(query): RawQuery) -> Response {
    let Some(gateway) = ready.get() else {
        return starting();
    };
    let query = payload::query_parameters(query.as_deref().unwrap_or_default());
    let Some(limit) = people::limit(query.get("limit").and_then(Value::as_str)) else {
        let detail = format!("limit must be a number from 1 to {}.", people::MOST);
        return problem(StatusCode::BAD_REQUEST, &detail);
    };
    let database = gateway.services.database.clone();
    // The database is asked on a thread of its own: it answers when it is done, and not before.
    let found = tokio::task::spawn_blocking(move || people::find(&database, limit)).await;
    match found.map_err(|error| error.to_string()).flatten() {
        Ok(people) => Json(json!({ "data": people })).into_response(),
        Err(error) => {
            let detail = format!("The people could not be read: {error}");
            problem(StatusCode::INTERNAL_SERVER_ERROR, &detail)
        }
    }
}

/// The template's parameters as they are here, and the names of its functions.
async fn settings(State(ready): State<Ready>) -> Response {
    ready.get().map_or_else(starting, |gateway| {
        Json(gateway.settings.clone()).into_response()
    })
}

/// Everything that happens from now on, as server-sent events.
async fn listen() -> Response {
    let heard = stream::unfold(events::listen(), |mut listener| async {
        let text = listener.next().await?;
        Some((ServerSent::default().data(text), listener))
    });
    // Says at once that somebody listens now.
    let first = stream::iter([ServerSent::default().comment("listening")]);
    let heartbeat = KeepAlive::new().interval(HEARTBEAT).text("still here");
    Sse::new(first.chain(heard).map(Ok::<_, Infallible>))
        .keep_alive(heartbeat)
        .into_response()
}

/// Redis without a key, as after a failover that lost everything.
async fn empty_redis(State(ready): State<Ready>) -> Response {
    let Some(gateway) = ready.get() else {
        return starting();
    };
    match flush(gateway.services.redis_port).await {
        Ok(keys) => {
            events::tell(|| Event::Flushed { keys });
            Json(json!({ "keys": keys })).into_response()
        }
        Err(error) => {
            let detail = format!("Redis was not emptied: {error}.");
            problem(StatusCode::SERVICE_UNAVAILABLE, &detail)
        }
    }
}

/// The end of one process, as a crash would be: `{"function": "home-timeline"}`, or of any without a name.
async fn kill(State(ready): State<Ready>, body: Bytes) -> Response {
    let Some(gateway) = ready.get() else {
        return starting();
    };
    let Some(name) = function_name(&body) else {
        let detail =
            "The body must be empty or a JSON object such as {\"function\": \"home-timeline\"}.";
        return problem(StatusCode::BAD_REQUEST, detail);
    };
    let not_found = |detail: &str| problem(StatusCode::NOT_FOUND, detail);
    let function = match name
        .as_deref()
        .map(|name| (name, gateway.services.lambda.find(name)))
    {
        None => None,
        Some((_, Some(function))) => Some(function.binary.as_str()),
        Some((name, None)) => return not_found(&format!("There is no function {name}.")),
    };
    match gateway.services.lambda.kill(function).await {
        Some(killed) => {
            let (function, pid) = (killed.function, killed.pid);
            let answer = Json(json!({ "function": function, "pid": pid }));
            events::tell(|| Event::Killed { function, pid });
            answer.into_response()
        }
        None => not_found(&format!(
            "No process of {} is running.",
            function.unwrap_or("any function")
        )),
    }
}

/// The function that a body names, if any. `None` if the body cannot be read.
fn function_name(body: &[u8]) -> Option<Option<String>> {
    if body.trim_ascii().is_empty() {
        return Some(None);
    }
    let Ok(Value::Object(body)) = serde_json::from_slice(body) else {
        return None;
    };
    match body.get("function") {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(name)) => Some(Some(name.clone())),
        Some(_) => None,
    }
}

/// Lets pages of this machine through, and everything that is not a page of a browser.
async fn refuse_other_sites(request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN);
    if origin.is_none_or(|origin| origin.to_str().is_ok_and(cors::is_local)) {
        return next.run(request).await;
    }
    let detail = "Only pages of this machine may do that.";
    problem(StatusCode::FORBIDDEN, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_names_a_function_or_none() {
        let named = |body: &str| function_name(body.as_bytes());
        let name = "home-timeline".to_owned();
        assert_eq!(named(r#"{"function":"home-timeline"}"#), Some(Some(name)));
        for any in ["", " \n", "{}", r#"{"function":null}"#] {
            assert_eq!(named(any), Some(None), "{any}");
        }
        for unreadable in ["[]", "home-timeline", r#"{"function":7}"#] {
            assert_eq!(named(unreadable), None, "{unreadable}");
        }
    }
}
