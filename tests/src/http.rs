//! Just enough HTTP: one request, the whole answer.

use std::sync::LazyLock;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::http::response::Parts;
use hyper::{HeaderMap, Method, Request};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use crate::patience::stretched;

const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Reading the system's certificates takes longer than most tests, so it is done once.
static CONNECTOR: LazyLock<HttpsConnector<HttpConnector>> = LazyLock::new(|| {
    HttpsConnectorBuilder::new()
        .with_native_roots()
        .expect("the system has root certificates")
        .https_or_http()
        .enable_http1()
        .build()
});

/// A connection pool. It belongs to the runtime, and so to the test, that made it.
#[derive(Clone, Debug)]
pub struct Http(Pool<HttpsConnector<HttpConnector>, Full<Bytes>>);

impl Http {
    pub fn new() -> Self {
        Self(Pool::builder(TokioExecutor::new()).build(CONNECTOR.clone()))
    }

    /// Fails only if there is no answer; every status is an answer.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(String, String)],
        body: Vec<u8>,
    ) -> Result<Answer, String> {
        let call = format!("{method} {url}");
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|e| format!("{call}: {e}"))?;
        let exchange = async {
            let answer = self
                .0
                .request(request)
                .await
                .map_err(|e| format!("{call}: {e}: {e:?}"))?;
            let (head, body) = answer.into_parts();
            let body = body
                .collect()
                .await
                .map_err(|e| format!("{call}: the answer broke off: {e}"))?
                .to_bytes();
            Ok(Answer {
                call: call.clone(),
                status: head.status.as_u16(),
                headers: head.headers,
                body,
            })
        };
        let limit = stretched(ANSWER_LIMIT);
        timeout(limit, exchange)
            .await
            .map_err(|_| format!("{call}: no answer within {limit:?}"))?
    }

    /// An answer whose body has no end. Fails only if there is no answer.
    pub async fn open(&self, url: &str) -> Result<(Parts, Incoming), String> {
        let request = Request::get(url).body(Full::default());
        let request = request.map_err(|e| format!("{url}: {e}"))?;
        let limit = stretched(ANSWER_LIMIT);
        let answer = timeout(limit, self.0.request(request)).await;
        let answer = answer.map_err(|_| format!("{url}: no answer within {limit:?}"))?;
        let answer = answer.map_err(|e| format!("{url}: {e}: {e:?}"))?;
        Ok(answer.into_parts())
    }
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

/// What came back, with what was asked, so that a failure can say both.
#[derive(Clone, Debug)]
pub struct Answer {
    pub call: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(
            self.status,
            status,
            "{} answered {}: {}",
            self.call,
            self.status,
            self.text()
        );
        self
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn content_type(&self) -> &str {
        self.headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    #[track_caller]
    pub fn read<T: DeserializeOwned>(&self) -> T {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(e) => panic!(
                "{} answered {} with something else than the contract says: {e}: {}",
                self.call,
                self.status,
                self.text()
            ),
        }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        assert!(
            self.content_type().starts_with("application/json"),
            "{}: content type {:?}",
            self.call,
            self.content_type()
        );
        self.read()
    }

    /// This status, with a problem as in RFC 9457.
    #[track_caller]
    pub fn expect_problem(self, status: u16) -> Value {
        let answer = self.expect(status);
        let Answer { call, .. } = &answer;
        assert!(
            answer
                .content_type()
                .starts_with("application/problem+json"),
            "{call}: a problem of content type {:?}: {}",
            answer.content_type(),
            answer.text()
        );
        let problem: Value = answer.read();
        for field in ["type", "title", "detail"] {
            assert!(
                problem[field].as_str().is_some_and(|text| !text.is_empty()),
                "{call}: a problem without {field}: {problem}"
            );
        }
        assert_eq!(
            problem["status"], status,
            "{call}: the problem names another status"
        );
        let kind = problem["type"].as_str().unwrap_or_default();
        assert!(
            kind.starts_with("urn:roost:problem:"),
            "{call}: a problem without a type of its own: {problem}"
        );
        assert_eq!(
            problem["request_id"].as_str(),
            answer.request_id(),
            "{call}: the problem is of another request"
        );
        problem
    }

    /// Like [`Self::expect_problem`], with the end of the problem's type.
    #[track_caller]
    pub fn expect_kind(self, status: u16, kind: &str) -> Value {
        let problem = self.expect_problem(status);
        assert_eq!(
            problem["type"],
            format!("urn:roost:problem:{kind}"),
            "{problem}"
        );
        problem
    }

    /// Under which number the operator finds this request.
    pub fn request_id(&self) -> Option<&str> {
        self.header("x-request-id")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Like [`Self::expect_problem`], if the gateway may answer before any function is asked. API Gateway then says
    /// `{"message": …}`.
    #[track_caller]
    pub fn expect_refusal(self, status: u16) {
        let answer = self.expect(status);
        if answer
            .content_type()
            .starts_with("application/problem+json")
        {
            answer.expect_problem(status);
        } else {
            let refusal: Value = answer.read();
            assert!(
                refusal["message"].is_string(),
                "{}: neither a problem nor a gateway's message: {refusal}",
                answer.call
            );
        }
    }
}
