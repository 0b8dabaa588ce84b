//! The connection to Valkey or Redis.
//!
//! It is opened on first use and reopened after a failure. [`Redis::run`] is one round trip, however many commands
//! it carries.

use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Cmd, FromRedisValue, Pipeline, Value};

use crate::Result;
use crate::runtime::config::Config;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct Redis {
    connection: ConnectionManager,
}

impl Redis {
    pub fn new(config: &Config) -> Result<Self> {
        Self::connect(config.redis_url()?)
    }

    pub fn connect(url: &str) -> Result<Self> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_number_of_retries(1);
        let connection = ConnectionManager::new_lazy_with_config(Client::open(url)?, config)?;
        Ok(Self { connection })
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
        Ok(pipeline.query_async(&mut self.connection.clone()).await?)
    }

    /// Runs one script for each of `calls` (key, arguments) in one round trip.
    ///
    /// The script is loaded at the head of the pipeline: it cannot be missing, and its text travels once.
    pub(crate) async fn run_script<T: FromRedisValue>(
        &self,
        script: &Script,
        calls: impl IntoIterator<Item = (String, Vec<Vec<u8>>)>,
    ) -> Result<Vec<T>> {
        let mut pipeline = Pipeline::new();
        pipeline.cmd("SCRIPT").arg("LOAD").arg(script.text).ignore();
        for (key, arguments) in calls {
            pipeline
                .cmd("EVALSHA")
                .arg(&script.sha)
                .arg(1)
                .arg(key)
                .arg(arguments);
        }
        Ok(pipeline.query_async(&mut self.connection.clone()).await?)
    }

    pub(crate) async fn one<T: FromRedisValue>(&self, command: Cmd) -> Result<T> {
        Ok(command.query_async(&mut self.connection.clone()).await?)
    }

    /// Any command, for tests and tools.
    pub async fn raw(&self, command: Cmd) -> Result<Value> {
        self.one(command).await
    }
}

/// A Lua script on one key.
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
