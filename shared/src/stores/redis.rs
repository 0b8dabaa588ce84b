//! The connection to Valkey or Redis.
//!
//! It is opened on first use and reopened after a failure. [`Redis::run`] is one round trip, however many commands
//! it carries. A Redis that does not answer is not asked again for a moment (see [`super::breaker`]).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Cmd, FromRedisValue, Pipeline, RedisResult, Value, cmd};

use super::breaker::Breaker;
use crate::runtime::config::Config;
use crate::{Error, Result};

// Well under a second together, so that a reader can still answer from the tables in time.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a right to fill lasts.
const FILL_MS: u64 = 5_000;

#[derive(Clone)]
pub struct Redis {
    connection: ConnectionManager,
    breaker: Arc<Breaker>,
}

impl Redis {
    pub fn new(config: &Config) -> Result<Self> {
        Self::connect(config.redis_url()?)
    }

    pub fn connect(url: &str) -> Result<Self> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_number_of_retries(0);
        let connection = ConnectionManager::new_lazy_with_config(Client::open(url)?, config)?;
        Ok(Self {
            connection,
            breaker: Arc::default(),
        })
    }

    /// Sends the commands together and gives their answers in order.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        commands: impl IntoIterator<Item = Cmd>,
    ) -> Result<Vec<T>> {
        let mut pipeline = Pipeline::new();
        for command in commands {
            pipeline.add_command(command);
        }
        if pipeline.is_empty() {
            return Ok(Vec::new());
        }
        self.guard(pipeline.query_async(&mut self.connection.clone()))
            .await
    }

    /// Runs one script for each of `calls` (keys, arguments) in one round trip.
    ///
    /// The script is loaded at the head of the pipeline: it cannot be missing, and its text travels once.
    pub(crate) async fn run_script<T: FromRedisValue>(
        &self,
        script: &Script,
        calls: impl IntoIterator<Item = (Vec<String>, Vec<Vec<u8>>)>,
    ) -> Result<Vec<T>> {
        let mut pipeline = Pipeline::new();
        pipeline.cmd("SCRIPT").arg("LOAD").arg(script.text).ignore();
        for (keys, arguments) in calls {
            pipeline
                .cmd("EVALSHA")
                .arg(&script.sha)
                .arg(keys.len())
                .arg(keys)
                .arg(arguments);
        }
        if pipeline.len() == 1 {
            return Ok(Vec::new());
        }
        self.guard(pipeline.query_async(&mut self.connection.clone()))
            .await
    }

    async fn guard<T>(&self, call: impl Future<Output = RedisResult<T>>) -> Result<T> {
        if !self.breaker.allows(Instant::now()) {
            return Err(Error::RedisDown);
        }
        match call.await {
            Ok(answer) => {
                self.breaker.succeeded();
                Ok(answer)
            }
            Err(error) => {
                if error.is_io_error() || error.is_timeout() {
                    self.breaker.failed(Instant::now());
                }
                Err(error.into())
            }
        }
    }

    pub(crate) async fn one<T: FromRedisValue>(&self, command: Cmd) -> Result<T> {
        self.guard(command.query_async(&mut self.connection.clone()))
            .await
    }

    /// Takes a right to fill, from whoever has it.
    pub(crate) async fn begin_fill(&self, key: String) -> Result<FillToken> {
        let token = FillToken(fastrand::u64(..));
        self.one::<Value>(
            cmd("SET")
                .arg(key)
                .arg(token.0)
                .arg("PX")
                .arg(FILL_MS)
                .take(),
        )
        .await?;
        Ok(token)
    }

    /// Takes a right to fill unless somebody has it.
    pub(crate) async fn try_begin_fill(&self, key: String) -> Result<Option<FillToken>> {
        let token = FillToken(fastrand::u64(..));
        let set = cmd("SET")
            .arg(key)
            .arg(token.0)
            .arg("NX")
            .arg("PX")
            .arg(FILL_MS)
            .take();
        Ok(self.one::<Option<String>>(set).await?.map(|_| token))
    }

    /// Any command, for tests and tools.
    pub async fn raw(&self, command: Cmd) -> Result<Value> {
        self.one(command).await
    }
}

/// The right to fill something that is missing from Redis with what is read from the tables.
///
/// It is a key that whoever changes the thing deletes; so what was read before the change is never stored after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillToken(u64);

impl fmt::Display for FillToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A Lua script on the keys of one user.
pub(crate) struct Script {
    text: &'static str,
    sha: String,
}

impl Script {
    pub(crate) fn new(text: &'static str) -> Self {
        Self {
            text,
            sha: redis::Script::new(text).get_hash().to_owned(),
        }
    }
}
