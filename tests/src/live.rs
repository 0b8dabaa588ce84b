//! A client that is connected for live updates.

use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::patience::{PATIENCE, stretched};
use crate::user::User;

/// What `POST /v1/live` gives.
#[derive(Clone, Debug, Deserialize)]
pub struct Ticket {
    pub url: String,
    pub expires_at: String,
}

pub struct LiveSocket {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

/// A message that tells of something new, and when it came.
#[derive(Clone, Debug)]
pub struct News {
    pub count: u64,
    pub capped: bool,
    pub newest_id: u64,
    pub at: Instant,
}

impl Ticket {
    /// The part of the URL that must not get into any log.
    pub fn secret(&self) -> &str {
        let (_, ticket) = self.url.split_once("?ticket=").expect("a ticket");
        ticket
    }
}

impl User {
    pub async fn live_ticket(&self) -> Ticket {
        let answer = self.call(Method::POST, "/v1/live").send().await;
        let mut ticket: Ticket = answer.expect(201).read();
        if let Some(url) = &self.client().target().endpoints.websocket {
            let (_, path) = ticket.url.split_once("/live?").expect("the stage");
            ticket.url = format!("{}/live?{path}", url.trim_end_matches('/'));
        }
        ticket
    }

    /// A new connection of this person.
    pub async fn connect(&self) -> LiveSocket {
        let ticket = self.live_ticket().await;
        let opened = LiveSocket::open(&ticket.url).await;
        opened.unwrap_or_else(|status| panic!("{} was refused with {status}", self.handle))
    }
}

impl LiveSocket {
    /// The status if the connection is refused.
    pub async fn open(url: &str) -> Result<Self, u16> {
        match timeout(stretched(PATIENCE), connect_async(url)).await {
            Ok(Ok((socket, _))) => Ok(Self { socket }),
            Ok(Err(Error::Http(response))) => Err(response.status().as_u16()),
            Ok(Err(error)) => panic!("no connection: {error}"),
            Err(_) => panic!("nobody answers the handshake"),
        }
    }

    pub async fn say(&mut self, text: &str) {
        let sent = self.socket.send(Message::text(text)).await;
        sent.expect("a connection that takes a message");
    }

    pub async fn ping(&mut self) {
        self.say(r#"{"type":"ping"}"#).await;
    }

    pub async fn saw(&mut self, newest: u64) {
        let message = json!({ "type": "seen", "newest_id": newest.to_string() });
        self.say(&message.to_string()).await;
    }

    /// The next message, if one comes in time.
    pub async fn next_within(&mut self, time: Duration) -> Option<Value> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match timeout(left, self.socket.next()).await.ok()? {
                Some(Ok(Message::Text(text))) => {
                    return Some(serde_json::from_str(&text).expect("a message is JSON"));
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    pub async fn next(&mut self) -> Value {
        let message = self.next_within(stretched(PATIENCE)).await;
        message.expect("a message comes")
    }

    /// The next message that tells of something new.
    pub async fn news_within(&mut self, time: Duration) -> Option<News> {
        let message = self.next_within(time).await?;
        assert_eq!(message["type"], "new", "{message}");
        Some(News {
            count: message["count"].as_u64().expect("a count"),
            capped: message["capped"].as_bool().expect("capped"),
            newest_id: message["newest_id"]
                .as_str()
                .and_then(|id| id.parse().ok())
                .expect("an id"),
            at: Instant::now(),
        })
    }

    pub async fn news(&mut self) -> News {
        let news = self.news_within(stretched(PATIENCE)).await;
        news.expect("something new is told")
    }

    /// `true` if the other side ends the connection in time.
    pub async fn ends_within(&mut self, time: Duration) -> bool {
        let ended = async {
            while let Some(Ok(message)) = self.socket.next().await {
                if message.is_close() {
                    break;
                }
            }
        };
        timeout(time, ended).await.is_ok()
    }

    pub async fn close(mut self) {
        // The other side may have ended it at the same moment.
        let _ = self.socket.close(None).await;
    }
}
