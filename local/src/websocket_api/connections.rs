//! The connections that are open: what is known of each, and the way to send to it and to end it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// What may wait for a client that reads slowly. One that is further behind is cut off, so that nobody waits for it.
const OUTBOX_MESSAGES: usize = 64;
/// 88 random bits: 16 characters that end with `=`, as at AWS.
const ID_BYTES: usize = 11;

/// There is no such connection, or there is none any more.
#[derive(Debug, PartialEq)]
pub(super) struct Gone;

/// Why a connection ends, as `$disconnect` is told: a code of RFC 6455 and a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct End {
    pub(super) code: u16,
    pub(super) reason: String,
}

impl End {
    pub(super) fn new(code: u16, reason: &str) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
        }
    }
}

/// Who made a connection.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) source_ip: IpAddr,
    pub(super) user_agent: String,
    /// The host that the client called.
    pub(super) domain: String,
    /// What the authorizer said of the client, `principalId` included. `None` if nobody was asked.
    pub(super) authorizer: Option<Map<String, Value>>,
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: String,
    pub(super) client: Client,
    pub(super) connected_at: DateTime<Utc>,
    opened: Instant,
    /// Milliseconds between the opening and the last frame in either direction.
    active_after_ms: AtomicU64,
    outbox: mpsc::Sender<Utf8Bytes>,
    /// Set once somebody wants the connection to end.
    ending: watch::Sender<Option<End>>,
}

impl Connection {
    /// A connection, and what is to be sent on it.
    pub(super) fn new(
        id: String,
        client: Client,
        connected_at: DateTime<Utc>,
    ) -> (Self, mpsc::Receiver<Utf8Bytes>) {
        let (outbox, to_send) = mpsc::channel(OUTBOX_MESSAGES);
        let connection = Self {
            id,
            client,
            connected_at,
            opened: Instant::now(),
            active_after_ms: AtomicU64::new(0),
            outbox,
            ending: watch::Sender::new(None),
        };
        (connection, to_send)
    }

    /// Whom the authorizer took the client for.
    pub(super) fn principal(&self) -> Option<&str> {
        self.client
            .authorizer
            .as_ref()?
            .get("principalId")?
            .as_str()
    }

    /// Leaves a text to be sent, and never waits: a client that does not take what it gets is cut off.
    pub(super) fn send(&self, text: impl Into<Utf8Bytes>) -> Result<(), Gone> {
        if self.ending.borrow().is_some() {
            return Err(Gone);
        }
        self.outbox.try_send(text.into()).map_err(|_| {
            self.end(End::new(1008, "The client reads too slowly"));
            Gone
        })
    }

    /// Asks for the end. Of several reasons the first one counts.
    pub(super) fn end(&self, end: End) {
        self.ending.send_if_modified(|ending| {
            let is_first = ending.is_none();
            ending.get_or_insert(end);
            is_first
        });
    }

    /// Waits until somebody asks for the end.
    pub(super) async fn ending(&self) -> End {
        let mut ending = self.ending.subscribe();
        let asked = ending.wait_for(Option::is_some).await;
        // The sender is a part of this connection, so it is there.
        asked
            .ok()
            .and_then(|end| end.clone())
            .unwrap_or_else(|| End::new(1006, ""))
    }

    /// There was a frame, in or out.
    pub(super) fn note_activity(&self) {
        let after = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.active_after_ms.store(after, Ordering::Relaxed);
    }

    fn active_after(&self) -> Duration {
        Duration::from_millis(self.active_after_ms.load(Ordering::Relaxed))
    }

    pub(super) fn last_active_at(&self) -> DateTime<Utc> {
        self.connected_at + TimeDelta::from_std(self.active_after()).unwrap_or_default()
    }

    /// Waits until there was no frame for so long.
    pub(super) async fn idle_for(&self, limit: Duration) {
        loop {
            let until = self.opened + self.active_after() + limit;
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Connections {
    open: Mutex<HashMap<String, Arc<Connection>>>,
}

impl Connections {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, connection: Arc<Connection>) {
        self.open().insert(connection.id.clone(), connection);
    }

    pub(super) fn remove(&self, id: &str) {
        self.open().remove(id);
    }

    pub(super) fn get(&self, id: &str) -> Result<Arc<Connection>, Gone> {
        self.open().get(id).cloned().ok_or(Gone)
    }
}

/// An id that nobody can guess. Also used for requests and messages, which look the same at AWS.
pub(super) fn random_id() -> String {
    let mut bytes = [0; ID_BYTES];
    // It fails only if the system has no random numbers at all; then there are no keys for tokens either.
    if aws_lc_rs::rand::fill(&mut bytes).is_err() {
        return uuid::Uuid::new_v4().simple().to_string();
    }
    URL_SAFE.encode(bytes)
}

#[cfg(test)]
pub(super) fn connection(
    authorizer: Option<Map<String, Value>>,
) -> (Connection, mpsc::Receiver<Utf8Bytes>) {
    let client = Client {
        source_ip: IpAddr::from([127, 0, 0, 1]),
        user_agent: "a test".to_owned(),
        domain: "localhost:9005".to_owned(),
        authorizer,
    };
    Connection::new(random_id(), client, Utc::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_look_like_those_of_aws_and_differ() {
        let (one, other) = (random_id(), random_id());
        assert!(one.len() == 16 && one.ends_with('='), "{one}");
        assert_ne!(one, other);
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_cut_off_and_nobody_waits_for_it() {
        let (connection, _to_send) = connection(None);
        for _ in 0..OUTBOX_MESSAGES {
            assert_eq!(connection.send("x"), Ok(()));
        }
        assert_eq!(connection.send("one too many"), Err(Gone));
        assert_eq!(connection.ending().await.code, 1008);
        assert_eq!(connection.send("later"), Err(Gone));
    }

    #[tokio::test]
    async fn of_several_reasons_to_end_the_first_one_counts() {
        let (connection, _to_send) = connection(None);
        connection.end(End::new(1000, "first"));
        connection.end(End::new(1001, "second"));
        assert_eq!(connection.ending().await, End::new(1000, "first"));
    }

    #[tokio::test]
    async fn a_connection_is_idle_only_if_there_was_no_frame_in_the_whole_time() {
        let (connection, _to_send) = connection(None);
        let started = Instant::now();
        let limit = Duration::from_millis(80);
        let idle = connection.idle_for(limit);
        let active = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            connection.note_activity();
        };
        tokio::join!(idle, active);
        assert!(started.elapsed() >= Duration::from_millis(125));
    }
}
