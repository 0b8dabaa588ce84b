//! What the local cloud offers below `/dev`, which no deployment has.

use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::Method;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use crate::http::Answer;
use crate::local_cloud::LocalCloud;
use crate::patience::{PATIENCE, stretched};

/// Server-sent events, from the moment it was opened.
pub struct EventStream {
    body: Incoming,
    unread: Vec<u8>,
    /// Everything that came, as it came.
    pub text: String,
}

impl LocalCloud {
    /// Any path of its port, without a token.
    pub async fn ask(&self, method: Method, path: &str, body: &str) -> Answer {
        self.ask_with(method, path, &[], body).await
    }

    pub async fn ask_with(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers: Vec<_> = headers.iter().map(owned).collect();
        let answer = self
            .client()
            .http()
            .send(method, &self.url(path), &headers, body.into())
            .await;
        answer.expect("the local cloud answers")
    }

    /// Hears of everything that happens from now on.
    pub async fn events(&self) -> EventStream {
        let opened = self.client().http().open(&self.url("/dev/events")).await;
        let (head, body) = opened.expect("the local cloud tells its events");
        assert_eq!(head.status, 200);
        assert_eq!(head.headers["content-type"], "text/event-stream");
        EventStream {
            body,
            unread: vec![],
            text: String::new(),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.client().target().endpoints.http)
    }
}

impl EventStream {
    /// The next event, if one comes in time.
    pub async fn next_within(&mut self, time: Duration) -> Option<Value> {
        let until = Instant::now() + time;
        loop {
            // An event ends with an empty line.
            if let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.unread.drain(..end + 2).collect();
                let event = String::from_utf8(event).expect("UTF-8");
                self.text.push_str(&event);
                match event.trim_end().strip_prefix("data: ") {
                    Some(data) => return Some(serde_json::from_str(data).expect("JSON")),
                    None => assert!(
                        event.starts_with(':'),
                        "neither data nor a comment: {event}"
                    ),
                }
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            let frame = timeout(left, self.body.frame()).await.ok()?;
            let frame = frame
                .expect("a stream without end")
                .expect("a whole stream");
            self.unread.extend(frame.into_data().unwrap_or_default());
        }
    }

    /// Everything that comes until this holds of it.
    pub async fn until(&mut self, what: &str, is_it: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let mut heard = vec![];
        let started = Instant::now();
        while !is_it(&heard) {
            let left = stretched(PATIENCE).saturating_sub(started.elapsed());
            match self.next_within(left).await {
                Some(event) => heard.push(event),
                None => panic!("no event says that {what}, but: {heard:#?}"),
            }
        }
        heard
    }
}
