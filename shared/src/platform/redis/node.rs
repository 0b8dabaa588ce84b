//! One server and the connection to it.
//!
//! Lambda freezes a sandbox between invocations, for seconds or for half an hour, and nothing tells it that its
//! connection died meanwhile. So a connection that was used before and turns out to be gone is replaced and asked
//! again, once; and one that lay idle gets only a moment to answer before that happens. What we send bears being done
//! twice, as it must in a system that delivers at least once.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, Pipeline, RedisError, RedisResult, Value,
};
use tokio::time::timeout;

use super::super::Moment;
use super::renewable::{Lease, Renewable};

// A second together at the most, so that a reader can still answer from the tables in time.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
/// A handshake is arithmetic, and a small function has a seventh of a core.
const TLS_CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);

/// After so long without an answer, a connection may be dead without knowing it.
const IDLE: Duration = Duration::from_secs(2);
/// How long an idle connection may take to show that it lives. A hundred times what a healthy one takes.
const IDLE_TIMEOUT: Duration = Duration::from_millis(150);

// The kernel finds out about a dead connection by itself, too, while the sandbox is awake.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(15);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);
const KEEPALIVE_ATTEMPTS: u32 = 3;
const USER_TIMEOUT: Duration = Duration::from_secs(2);

/// What every connection's sockets are set to.
pub(super) fn tcp_settings() -> TcpSettings {
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_EVERY)
        .with_retries(KEEPALIVE_ATTEMPTS);
    let settings = TcpSettings::default()
        .set_nodelay(true)
        .set_keepalive(keepalive);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(USER_TIMEOUT);
    settings
}

pub(super) struct Node {
    client: Client,
    connection: Renewable<MultiplexedConnection>,
    last_answer: Mutex<Moment>,
}

impl Node {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            connection: Renewable::default(),
            last_answer: Mutex::new(Moment::now()),
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn address(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }

    /// One round trip. Errors of single commands are among the answers.
    pub(super) async fn ask(&self, commands: &Pipeline) -> RedisResult<Vec<Value>> {
        let lease = self.lease();
        let used_before = lease.used_before;
        let idle = used_before && self.idle() > IDLE;
        match self.try_ask(commands, lease, idle).await {
            Err(error) if used_before && error.is_io_error() && (idle || !error.is_timeout()) => {
                tracing::debug!(%error, idle, "connection to redis was lost, asking again");
                self.try_ask(commands, self.lease(), false).await
            }
            result => result,
        }
    }

    async fn try_ask(
        &self,
        commands: &Pipeline,
        lease: Lease<MultiplexedConnection>,
        idle: bool,
    ) -> RedisResult<Vec<Value>> {
        let asked = async {
            let mut connection = lease.making.await?;
            commands.query_async::<Vec<Value>>(&mut connection).await
        };
        let result = if idle {
            timeout(IDLE_TIMEOUT, asked).await.unwrap_or_else(|_| {
                let problem = "no answer on an idle connection";
                Err(RedisError::from(io::Error::new(
                    io::ErrorKind::TimedOut,
                    problem,
                )))
            })
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

    fn lease(&self) -> Lease<MultiplexedConnection> {
        self.connection.get(|| {
            let client = self.client.clone();
            let limit = match client.get_connection_info().addr() {
                ConnectionAddr::TcpTls { .. } => TLS_CONNECT_TIMEOUT,
                _ => CONNECT_TIMEOUT,
            };
            let config = AsyncConnectionConfig::new()
                .set_connection_timeout(Some(limit))
                .set_response_timeout(Some(RESPONSE_TIMEOUT));
            async move {
                client
                    .get_multiplexed_async_connection_with_config(&config)
                    .await
            }
            .boxed()
        })
    }

    fn idle(&self) -> Duration {
        self.last_answer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}
