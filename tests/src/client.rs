//! One test's way into a deployment.

use std::env;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::time::sleep;

use crate::cache::Cache;
use crate::http::{Answer, Http};
use crate::openapi::Document;
use crate::page::Profile;
use crate::patience::in_parallel;
use crate::tables::Tables;
use crate::target::{Target, skip};
use crate::user::User;

/// A deployment that goes on refusing is broken.
const MOST_REFUSALS: usize = 20;
const LONGEST_REFUSAL: Duration = Duration::from_secs(60);

static TURNS: RwLock<()> = RwLock::const_new(());

/// Most tests run side by side; one that measures time runs by itself.
#[derive(Debug)]
pub(crate) enum Turn {
    Shared {
        _guard: RwLockReadGuard<'static, ()>,
    },
    Alone {
        _guard: RwLockWriteGuard<'static, ()>,
    },
}

impl Turn {
    pub(crate) async fn shared() -> Self {
        Self::Shared {
            _guard: TURNS.read().await,
        }
    }

    pub(crate) async fn alone() -> Self {
        Self::Alone {
            _guard: TURNS.write().await,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    target: Target,
    http: Http,
    _turn: Turn,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(log) = self.target.log.as_ref().filter(|_| thread::panicking()) {
            eprintln!("log of the local cloud: {}", log.display());
        }
    }
}

impl Client {
    pub(crate) fn new(target: Target, turn: Turn) -> Self {
        Self(Arc::new(Inner {
            target,
            http: Http::new(),
            _turn: turn,
        }))
    }

    /// The deployment that all tests share, while others use it too.
    pub async fn shared() -> Self {
        let turn = Turn::shared().await;
        Self::new(Target::get().await, turn)
    }

    /// The deployment that all tests share, while no other test runs.
    pub async fn alone() -> Self {
        let turn = Turn::alone().await;
        Self::new(Target::get().await, turn)
    }

    pub fn http(&self) -> &Http {
        &self.0.http
    }

    pub fn target(&self) -> &Target {
        &self.0.target
    }

    /// `None`, after saying that the test is skipped, if the tables are out of reach.
    pub async fn tables(&self) -> Option<Tables> {
        let tables = Tables::of(self.target()).await;
        if tables.is_none() {
            skip("it looks into the tables, and there is no ROOST_DYNAMODB_URL");
        }
        tables
    }

    /// `None`, after saying that the test is skipped, if Redis is out of reach.
    pub async fn cache(&self) -> Option<Cache> {
        let cache = Cache::of(self.target()).await;
        if cache.is_none() {
            skip("it looks into Redis, and there is no ROOST_REDIS_URL");
        }
        cache
    }

    /// Invokes a function itself, past its event source, and expects it to have processed every record.
    /// `None`, after saying that the test is skipped, if functions cannot be invoked.
    pub async fn invoke(&self, function: &str, event: &Value) -> Option<()> {
        let Some(lambda) = &self.target().endpoints.lambda else {
            skip("it invokes functions, which needs a local cloud");
            return None;
        };
        let url = format!("{lambda}/2015-03-31/functions/{function}/invocations");
        let answer = self
            .http()
            .send(Method::POST, &url, &[], event.to_string().into_bytes())
            .await;
        let answer = answer.expect("the Lambda API answers").expect(200);
        assert!(
            !answer.headers.contains_key("x-amz-function-error"),
            "{function} failed: {}",
            answer.text()
        );
        let report: Value = answer.read();
        let failures = report["batchItemFailures"].as_array().map_or(0, Vec::len);
        assert_eq!(
            failures, 0,
            "{function} did not process every record: {report}"
        );
        Some(())
    }

    pub fn call(&self, method: Method, path: &str) -> Call {
        let url = format!("{}{path}", self.target().endpoints.http);
        Call {
            http: self.http().clone(),
            method,
            url,
            path: Some(path.split('?').next().unwrap_or_default().to_owned()),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub async fn token(&self, sub: &str) -> String {
        self.token_of(&json!({ "sub": sub })).await
    }

    pub async fn expired_token(&self, sub: &str) -> String {
        self.token_of(&json!({ "sub": sub, "expires_in": -60 }))
            .await
    }

    async fn token_of(&self, claims: &Value) -> String {
        let mut call = self.call(Method::POST, "");
        call.url.clone_from(&self.target().endpoints.token);
        call.path = None;
        let answer: Value = call.json(claims).send().await.expect(200).read();
        answer["access_token"]
            .as_str()
            .expect("an access_token")
            .to_owned()
    }

    /// A token of somebody who has no profile yet.
    pub async fn stranger(&self) -> String {
        self.token(&unique_subject()).await
    }

    /// The answer to a sign-up with this token and this body.
    pub async fn create_user(&self, token: &str, body: &Value) -> Answer {
        let call = self.call(Method::POST, "/v1/users");
        call.token(token).json(body).send().await
    }

    /// One new person for each name, in this order.
    pub async fn sign_up_each<const N: usize>(&self, names: [&str; N]) -> [User; N] {
        let users = in_parallel(1, names.map(|name| self.sign_up(name))).await;
        users.try_into().expect("one user for each name")
    }

    /// A new person with a handle that begins with `name`.
    pub async fn sign_up(&self, name: &str) -> User {
        let subject = unique_subject();
        let token = self.token(&subject).await;
        let handle = unique_handle(name);
        let body = json!({ "handle": handle, "name": name });
        let answer = self.create_user(&token, &body).await.expect(201);
        let profile: Profile = answer.read();
        User::new(self.clone(), profile.id, handle, token)
    }

    pub async fn sign_up_many(&self, name: &str, count: usize) -> Vec<User> {
        crate::in_parallel(4, (0..count).map(|_| self.sign_up(name))).await
    }
}

/// A request being put together.
#[must_use]
#[derive(Debug)]
pub struct Call {
    http: Http,
    method: Method,
    url: String,
    /// The API's path, without a query. `None` if it is not the API that is called.
    path: Option<String>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Call {
    pub fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn json(self, body: &Value) -> Self {
        self.raw(body.to_string())
    }

    /// A body that need not be JSON but says that it is.
    pub fn raw(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("content-type", "application/json")
    }

    /// The answer, which is one that docs/openapi.yaml describes. A deployment has its usual limits, and one test makes more requests than one person may. So a request
    /// that it refuses for that is sent again when the answer says: nothing of it was done.
    pub async fn send(self) -> Answer {
        let most = if Target::is_remote() {
            MOST_REFUSALS
        } else {
            0
        };
        let mut refusals = 0;
        loop {
            let sent = self.http.send(
                self.method.clone(),
                &self.url,
                &self.headers,
                self.body.clone(),
            );
            let answer = sent.await.unwrap_or_else(|e| panic!("no answer: {e}"));
            if let Some(path) = &self.path {
                expect_described(&self.method, path, &answer);
            }
            if answer.status != 429 || refusals == most {
                return answer;
            }
            refusals += 1;
            let seconds = answer.headers.get("retry-after");
            let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
            let wait = Duration::from_secs(seconds.unwrap_or(1));
            sleep(wait.min(LONGEST_REFUSAL)).await;
        }
    }
}

fn expect_described(method: &Method, path: &str, answer: &Answer) {
    if let Err(difference) = Document::get().check(method, path, answer) {
        panic!(
            "{}: docs/openapi.yaml says something else: {difference}",
            answer.call
        );
    }
}

/// Six characters that no other run against the same deployment has.
static RUN: LazyLock<String> = LazyLock::new(|| {
    (0..6)
        .map(|_| fastrand::alphanumeric().to_ascii_lowercase())
        .collect()
});

fn number() -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn unique_subject() -> String {
    format!("test|{}|{}", *RUN, number())
}

/// At most 15 characters: up to 5 of the name, the run, and up to 4 for a number.
pub(crate) fn unique_handle(name: &str) -> String {
    let name: String = name.chars().take(5).collect();
    format!("{name}{}{:x}", *RUN, number())
}

impl Client {
    pub fn unused_handle(&self, name: &str) -> String {
        unique_handle(name)
    }

    /// True if tokens come from a local issuer, which also makes tokens that no real one would.
    pub fn has_local_issuer(&self) -> bool {
        env::var_os("ROOST_TOKEN_URL").is_none()
    }
}
