//! One server and the connection to it.
//!
//! Lambda freezes a sandbox between invocations, for seconds or for half an hour, and nothing tells it that its
//! connection died meanwhile. So a connection that was used before and turns out to be gone is replaced and asked
//! again, once; and one that lay idle gets only a moment to answer before that happens. What we send bears being done
//! twice, as it must in a system that delivers at least once.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use redis::{RedisError, RedisResult, Value};
use tokio::time::timeout;

use super::super::Moment;
use super::batch::Batch;
use super::connection::Connection;
use super::renewable::{Lease, Renewable};
use super::server::Server;

// A second together at the most, so that a reader can still answer from the tables in time.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
/// A handshake is arithmetic, and a small function has a seventh of a core.
const TLS_CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);

/// After so long without an answer, a connection may be dead without knowing it.
const IDLE: Duration = Duration::from_secs(2);
/// How long an idle connection may take to show that it lives. A hundred times what a healthy one takes.
const IDLE_TIMEOUT: Duration = Duration::from_millis(150);

pub(super) struct Node {
    server: Server,
    connection: Renewable<Connection>,
    last_answer: Mutex<Moment>,
}

/// What one node is asked in one round trip.
#[derive(Clone)]
pub(super) struct Question {
    /// Commands, one behind the other.
    pub(super) commands: Bytes,
    /// How many they are.
    pub(super) answers: usize,
}

impl From<Batch> for Question {
    fn from(batch: Batch) -> Self {
        Self {
            answers: batch.len(),
            commands: batch.into_bytes().into(),
        }
    }
}

impl Node {
    pub(super) fn new(server: Server) -> Self {
        Self {
            server,
            connection: Renewable::default(),
            last_answer: Mutex::new(Moment::now()),
        }
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// One round trip. Errors of single commands are among the answers.
    pub(super) async fn ask(&self, question: Question) -> RedisResult<Vec<Value>> {
        let lease = self.lease();
        let used_before = lease.used_before;
        let idle = used_before && self.idle() > IDLE;
        match self.try_ask(question.clone(), lease, idle).await {
            Err(error) if used_before && error.is_io_error() && (idle || !error.is_timeout()) => {
                tracing::debug!(%error, idle, "connection to redis was lost, asking again");
                self.try_ask(question, self.lease(), false).await
            }
            result => result,
        }
    }

    async fn try_ask(
        &self,
        question: Question,
        lease: Lease<Connection>,
        idle: bool,
    ) -> RedisResult<Vec<Value>> {
        let asked = async {
            let connection = lease.making.await?;
            let answered = connection.ask(question.commands, question.answers);
            in_time(RESPONSE_TIMEOUT, "no answer", answered).await
        };
        let result = if idle {
            in_time(IDLE_TIMEOUT, "no answer on an idle connection", asked).await
        } else {
            asked.await
        };
        match &result {
            Ok(_) => {
                *self
                    .last_answer
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = Moment::now();
            }
            // Nobody knows what a connection that timed out will still say, or whether it ever will.
            Err(_) => self.connection.forget(lease.generation),
        }
        result
    }

    fn lease(&self) -> Lease<Connection> {
        self.connection.get(|| {
            let server = self.server.clone();
            let limit = if server.uses_tls() {
                TLS_CONNECT_TIMEOUT
            } else {
                CONNECT_TIMEOUT
            };
            async move { in_time(limit, "no connection", Connection::open(&server)).await }.boxed()
        })
    }

    fn idle(&self) -> Duration {
        self.last_answer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}

async fn in_time<T>(
    limit: Duration,
    problem: &'static str,
    work: impl Future<Output = RedisResult<T>>,
) -> RedisResult<T> {
    timeout(limit, work).await.unwrap_or_else(|_| {
        let late = io::Error::new(io::ErrorKind::TimedOut, problem);
        Err(RedisError::from(late))
    })
}
