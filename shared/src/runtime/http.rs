//! HTTP: from API Gateway's event to a handler, and from what it returns to JSON or a [`super::problem`].
//!
//! This is the only place where limits are kept and requests are numbered: a handler knows nothing of either.

use std::future::ready;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequestContext;
pub use lambda_http::http::{HeaderName, header};
use lambda_http::http::{HeaderValue, StatusCode};
use lambda_http::request::RequestContext;
use lambda_http::{Body, IntoResponse, Response, service_fn};
pub use lambda_http::{Request, RequestExt};
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::Exit;
use super::guard::guarded;
use super::problem::{self, Problem};
use super::query;
pub use super::query::{
    both, cursor, cursor_text, ids, known_tags, list_cursor, page_size, parameter, query, since,
    switch, wrong_parameter,
};
use crate::domain::{User, UserId};
use crate::platform::{Roost, metrics, now_millis};
use crate::stores::rate_limits::{Kind, Verdict};
use crate::stores::{Identities, RateLimits};
use crate::{Error, Result};

pub type HttpResponse = Response<Body>;

/// How long a PUT or a DELETE is tried. An attempt takes half a second if Redis does not answer, and a function has ten.
const PERSISTENCE: Duration = Duration::from_secs(4);

/// Between two attempts. Random, so that sandboxes do not ask in step.
const PAUSE_MS: std::ops::Range<u64> = 200..400;

/// One endpoint: what it needs, and what it answers.
pub trait Handler: Sized + Sync {
    /// The parameters of the query that it knows. All others are refused.
    const PARAMETERS: &[&str] = &[];

    fn new(roost: &Roost) -> Result<Self>;

    /// `me` is the user who calls.
    fn handle(
        &self,
        me: UserId,
        request: &Request,
    ) -> impl Future<Output = Result<HttpResponse>> + Send;
}

/// Like [`Handler`], for callers who may have no profile.
pub trait SubjectHandler: Sized + Sync {
    /// As in [`Handler::PARAMETERS`].
    const PARAMETERS: &[&str] = &[];

    fn new(roost: &Roost) -> Result<Self>;

    /// `subject` is the `sub` of the caller's token.
    fn handle(
        &self,
        subject: &str,
        request: &Request,
    ) -> impl Future<Output = Result<HttpResponse>> + Send;
}

/// Runs the function for callers with a profile: 401 without a token, 403 without a profile.
pub async fn serve<H: Handler>() -> Exit {
    let roost = Roost::start().await?;
    let (handler, identities) = (H::new(&roost)?, Identities::new(&roost)?);
    let (handler, identities) = (&handler, &identities);
    run(&roost, async move |request: Request| {
        for_user(handler, identities, &request).await
    })
    .await
}

/// Runs the function for everybody with a token.
pub async fn serve_subject<H: SubjectHandler>() -> Exit {
    let roost = Roost::start().await?;
    let handler = &H::new(&roost)?;
    run(&roost, async move |request: Request| {
        for_subject(handler, &request).await
    })
    .await
}

/// Lets the handler answer, whoever calls.
async fn for_subject<H: SubjectHandler>(handler: &H, request: &Request) -> Result<HttpResponse> {
    let subject = &subject(request)?;
    query::check(request, H::PARAMETERS)?;
    let handled = || handler.handle(subject, request);
    if is_read(request) {
        handled().await
    } else {
        persistently(request, handled).await
    }
}

/// Finds out who calls and lets the handler answer.
async fn for_user<H: Handler>(
    handler: &H,
    identities: &Identities,
    request: &Request,
) -> Result<HttpResponse> {
    let subject = &subject(request)?;
    query::check(request, H::PARAMETERS)?;
    let handled = || async move {
        handler
            .handle(identities.user(subject).await?, request)
            .await
    };
    if !is_read(request) {
        identities.verify(subject).await;
        return persistently(request, handled).await;
    }
    // A read does no harm, so it does not wait for the check. If the caller changed, the handler answers again.
    let (result, same) = tokio::join!(guarded(handled()), identities.verify(subject));
    if same { result } else { handled().await }
}

/// What may be repeated is tried again if a store does not answer for a moment: nobody should have to repeat a delete
/// because Redis was slow once.
async fn persistently<F>(request: &Request, handled: impl Fn() -> F) -> Result<HttpResponse>
where
    F: Future<Output = Result<HttpResponse>>,
{
    let until = Instant::now() + PERSISTENCE;
    loop {
        match handled().await {
            Err(error) if is_repeatable(request, &error) && Instant::now() < until => {
                tracing::warn!(error = error.chain(), "request tried again");
                sleep(Duration::from_millis(fastrand::u64(PAUSE_MS))).await;
            }
            result => return result,
        }
    }
}

/// Runs the function, within each caller's limits.
async fn run<F>(roost: &Roost, handle: impl Fn(Request) -> F + Sync) -> Exit
where
    F: Future<Output = Result<HttpResponse>> + Send,
{
    let limits = &RateLimits::new(roost)?;
    lambda_http::run(service_fn(|request: Request| {
        let (subject, reads) = (subject(&request).ok(), is_read(&request));
        let request_id = request_id(&request);
        let handled = guarded(handle(request));
        async move {
            // A caller without a token has no budget, and is refused by the handler.
            let kind = if reads { Kind::Read } else { Kind::Write };
            let taken = async { limits.take(subject.as_ref()?, kind).await };
            let (result, verdict) = within(taken, reads, handled).await;
            let mut response = answer(result, request_id.as_deref());
            if let Some(verdict) = verdict {
                say_limits(&mut response, verdict);
            }
            if let (Some(subject), Some(Cost(requests))) = (&subject, response.extensions().get()) {
                limits.charge(subject, kind, *requests).await;
            }
            metrics::flush();
            Ok::<_, lambda_http::Error>(Unchanged(response))
        }
    }))
    .await
}

/// A response that goes out as it is. By itself, lambda_http would ask for its charset, and link the tables of every charset
/// there is: 145 KB of the zip of `home-timeline`.
struct Unchanged(HttpResponse);

impl IntoResponse for Unchanged {
    fn into_response(self) -> BoxFuture<'static, HttpResponse> {
        Box::pin(ready(self.0))
    }
}

fn is_read(request: &Request) -> bool {
    request.method().is_safe()
}

fn is_repeatable(request: &Request, error: &Error) -> bool {
    request.method().is_idempotent() && error.may_pass()
}

/// A read is handled while its budget is looked up, so that it takes no longer; a write only after that.
async fn within(
    taken: impl Future<Output = Option<Verdict>>,
    reads: bool,
    handled: impl Future<Output = Result<HttpResponse>>,
) -> (Result<HttpResponse>, Option<Verdict>) {
    let (taken, handled) = (pin!(taken), pin!(handled));
    if reads {
        match select(taken, handled).await {
            Either::Left((verdict, _)) if is_refusal(verdict) => (Err(Error::TooMany), verdict),
            Either::Left((verdict, handled)) => (handled.await, verdict),
            Either::Right((result, taken)) => match taken.await {
                verdict if is_refusal(verdict) => (Err(Error::TooMany), verdict),
                verdict => (result, verdict),
            },
        }
    } else {
        match taken.await {
            verdict if is_refusal(verdict) => (Err(Error::TooMany), verdict),
            verdict => (handled.await, verdict),
        }
    }
}

fn is_refusal(verdict: Option<Verdict>) -> bool {
    verdict.is_some_and(|verdict| !verdict.allowed)
}

/// The headers that clients of other APIs know. The reset is a time, in seconds since 1970.
fn say_limits(response: &mut HttpResponse, verdict: Verdict) {
    let seconds = |duration: Duration| duration.as_millis().div_ceil(1_000);
    let reset = u128::from(now_millis()) + verdict.reset_after.as_millis();
    let mut say = |name, number: u128| {
        if let Ok(value) = HeaderValue::from_str(&number.to_string()) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    };
    say("x-ratelimit-limit", verdict.limit.into());
    say("x-ratelimit-remaining", verdict.remaining.into());
    say("x-ratelimit-reset", reset.div_ceil(1_000));
    if !verdict.allowed {
        metrics::RATE_LIMITED.add(1);
        say("retry-after", seconds(verdict.retry_after).max(1));
    }
}

/// By this header and this member of a problem, a client and an operator speak of the same request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The gateway's number of a request, which is in its log, too.
fn request_id(request: &Request) -> Option<String> {
    match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => context.request_id.clone(),
        _ => None,
    }
}

/// What goes out for what a handler returned.
fn answer(result: Result<HttpResponse>, request_id: Option<&str>) -> HttpResponse {
    let mut response = result.unwrap_or_else(|error| refuse(&error, request_id));
    if let Some(value) = request_id.and_then(|id| HeaderValue::from_str(id).ok()) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// A 200 with this body.
pub fn ok(body: &impl Serialize) -> Result<HttpResponse> {
    json_response(StatusCode::OK, body)
}

/// A 201 with this body.
pub fn created(body: &impl Serialize) -> Result<HttpResponse> {
    json_response(StatusCode::CREATED, body)
}

/// A 201 with this body, and where the new thing is from now on.
pub fn created_at(location: &str, body: &impl Serialize) -> Result<HttpResponse> {
    with_header(created(body)?, header::LOCATION, location)
}

/// A 204.
pub fn no_content() -> Result<HttpResponse> {
    Ok(empty(StatusCode::NO_CONTENT))
}

/// A 304. It says the same of what the client has as the 200 would.
pub fn not_modified(tag: &str) -> Result<HttpResponse> {
    with_tag(empty(StatusCode::NOT_MODIFIED), Some(tag))
}

/// Says how the answer may be kept: by its reader, who asks before using it again. Without a tag, there is nothing to ask.
pub fn with_tag(response: HttpResponse, tag: Option<&str>) -> Result<HttpResponse> {
    let response = with_header(response, header::CACHE_CONTROL, "private, no-cache")?;
    match tag {
        Some(tag) => with_header(response, header::ETAG, tag),
        None => Ok(response),
    }
}

fn empty(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = status;
    response
}

/// What an answer costs its caller beside the request itself, counted in requests.
#[derive(Clone, Copy)]
struct Cost(u64);

/// Takes more out of the caller's budget than the one request, because the answer took so much work.
fn with_cost(mut response: HttpResponse, requests: u64) -> HttpResponse {
    if requests > 0 {
        response.extensions_mut().insert(Cost(requests));
    }
    response
}

/// Queries to the tables that weigh as much as one read from the cache.
const QUERIES_PER_READ: usize = 20;

/// Like [`with_cost`], for an answer that took so many queries to the tables.
pub fn with_queries(response: HttpResponse, queries: usize) -> HttpResponse {
    let requests = u64::try_from(queries / QUERIES_PER_READ).unwrap_or(u64::MAX);
    with_cost(response, requests)
}

/// Adds a header that was put together out of what we made ourselves.
pub fn with_header(
    mut response: HttpResponse,
    name: HeaderName,
    value: &str,
) -> Result<HttpResponse> {
    let value = HeaderValue::from_str(value).map_err(Error::unreadable("a header to write"))?;
    response.headers_mut().insert(name, value);
    Ok(response)
}

fn json_response(status: StatusCode, body: &impl Serialize) -> Result<HttpResponse> {
    let text = serde_json::to_string(body).map_err(Error::unreadable("an answer to write"))?;
    Ok(respond(status, "application/json", text))
}

fn respond(status: StatusCode, content_type: &'static str, text: String) -> HttpResponse {
    let mut response = Response::new(Body::Text(text));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The problem that a client reads, and what the log keeps of it.
fn refuse(error: &Error, request_id: Option<&str>) -> HttpResponse {
    let (problem, status) = (Problem::from(error), Problem::from(error).status());
    let id = request_id.unwrap_or_default();
    if status.is_server_error() {
        tracing::error!(error = error.chain(), api_request_id = id, "request failed");
    } else {
        // Not why: the reason may quote what the client sent.
        tracing::info!(
            status = status.as_u16(),
            problem = problem.name(),
            api_request_id = id,
            "request refused"
        );
    }
    let text = serde_json::to_string(&problem::Body::new(error, request_id)).unwrap_or_default();
    respond(status, "application/problem+json", text)
}

/// The `sub` that the authorizer found in the token. Nothing else tells who calls.
pub fn subject(request: &Request) -> Result<String> {
    let Some(RequestContext::ApiGatewayV2(ApiGatewayV2httpRequestContext {
        authorizer: Some(authorizer),
        ..
    })) = request.request_context_ref()
    else {
        return Err(Error::Unauthenticated);
    };
    let claims = authorizer.jwt.as_ref().map(|jwt| &jwt.claims);
    let subject = claims
        .and_then(|claims| claims.get("sub"))
        .filter(|sub| !sub.is_empty());
    subject.cloned().ok_or(Error::Unauthenticated)
}

/// The variable part of the path.
pub fn path<'a>(request: &'a Request, name: &str) -> &'a str {
    request
        .path_parameters_ref()
        .and_then(|parameters| parameters.first(name))
        .unwrap_or_default()
}

/// The user in the path; `me` stands for the caller.
pub fn user_id(request: &Request, me: UserId) -> Result<UserId> {
    match path(request, "id") {
        "me" => Ok(me),
        id => UserId::parse(id),
    }
}

/// A page of a list as clients read it.
#[derive(Serialize)]
pub struct Page<T> {
    pub data: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub includes: Option<Includes>,
    pub meta: PageMeta,
}

/// What belongs to the data of an answer and is told once.
#[derive(Serialize)]
pub struct Includes {
    /// The authors of tweets.
    pub users: Vec<User>,
}

#[derive(Serialize)]
pub struct PageMeta {
    pub result_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    pub fn new(data: Vec<T>, next_cursor: Option<String>) -> Self {
        let meta = PageMeta {
            result_count: data.len(),
            next_cursor,
        };
        Self {
            data,
            includes: None,
            meta,
        }
    }

    pub fn with_users(self, users: Vec<User>) -> Self {
        Self {
            includes: Some(Includes { users }),
            ..self
        }
    }
}

/// For handlers' tests: requests out of the events in `events/`.
pub mod test {
    use super::{Body, Request};

    /// # Panics
    /// If the event is not one of API Gateway's.
    pub fn request(event: &str) -> Request {
        lambda_http::request::from_str(event).expect("an event of API Gateway")
    }

    /// # Panics
    /// If the event is not one of API Gateway's.
    pub fn with_body(event: &str, body: &str) -> Request {
        request(event).map(|_| Body::Text(body.to_owned()))
    }
}
