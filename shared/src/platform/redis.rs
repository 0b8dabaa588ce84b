//! The connection to Valkey or Redis, a single server or a cluster.
//!
//! It is opened on first use and reopened after a failure (see [`node`]). [`Redis::run`] is one round trip, however
//! many commands it carries; in a cluster, one to each shard, all at once (see [`cluster`]). A Redis that does not
//! answer is not asked again for a moment (see [`breaker`]). Its clock is the one that all sandboxes share (see [`clock`]).

mod breaker;
mod clock;
mod cluster;
mod node;
mod renewable;
mod slot;

use std::sync::Arc;
use std::time::Instant;

use redis::{
    Client, Cmd, FromRedisValue, IntoConnectionInfo, Pipeline, RedisResult, ServerErrorKind,
    TlsCertificates, Value, cmd, from_redis_value,
};

use self::breaker::Breaker;
use self::clock::Clock;
use self::cluster::Cluster;
use self::node::Node;
use super::config::Config;
use crate::{Error, Result};

#[derive(Clone)]
pub struct Redis {
    deployment: Arc<Deployment>,
    breaker: Arc<Breaker>,
    clock: Arc<Clock>,
}

enum Deployment {
    Single(Box<Node>),
    Cluster(Cluster),
}

impl Redis {
    pub fn new(config: &Config) -> Result<Self> {
        let client = client(config.redis_url()?, config.redis_ca_cert()?)?;
        Ok(if config.redis_cluster()? {
            Self::of(Deployment::Cluster(Cluster::new(client)))
        } else {
            Self::of(Deployment::Single(Box::new(Node::new(client))))
        })
    }

    /// A single server.
    pub fn connect(url: &str) -> Result<Self> {
        let node = Node::new(client(url, None)?);
        Ok(Self::of(Deployment::Single(Box::new(node))))
    }

    fn of(deployment: Deployment) -> Self {
        Self {
            deployment: Arc::new(deployment),
            breaker: Arc::default(),
            clock: Arc::default(),
        }
    }

    /// Sends the commands together and gives their answers in order.
    pub(crate) async fn run<T: FromRedisValue>(
        &self,
        commands: impl IntoIterator<Item = Cmd>,
    ) -> Result<Vec<T>> {
        read_all(self.ask(None, commands.into_iter().collect()).await?)
    }

    /// Runs one script for each of `calls` (keys, arguments) in one round trip.
    ///
    /// Servers remember scripts. If a server does not know this one yet, it is loaded at the head of a second attempt, so
    /// that its text travels once. If it is missing even then, as behind a proxy that loads it elsewhere, the text is
    /// sent with the call.
    pub(crate) async fn run_script<T: FromRedisValue>(
        &self,
        script: &Script,
        calls: impl IntoIterator<Item = ScriptCall>,
    ) -> Result<Vec<T>> {
        let calls: Vec<_> = calls.into_iter().collect();
        let load = cmd("SCRIPT").arg("LOAD").arg(script.text).take();
        let attempts = [
            ("EVALSHA", script.sha.as_str(), None),
            ("EVALSHA", script.sha.as_str(), Some(&load)),
            ("EVAL", script.text, None),
        ];
        let mut answers = vec![Value::Nil; calls.len()];
        let mut open: Vec<usize> = (0..calls.len()).collect();
        for (name, script, prelude) in attempts {
            let commands = open.iter().map(|n| {
                let (keys, arguments) = &calls[*n];
                let mut call = cmd(name);
                call.arg(script).arg(keys.len()).arg(keys).arg(arguments);
                call
            });
            let answered = self.ask(prelude, commands.collect()).await?;
            for (n, answer) in open.iter().zip(answered) {
                answers[*n] = answer;
            }
            open.retain(|n| is_missing_script(&answers[*n]));
        }
        read_all(answers)
    }

    /// Like [`Self::run`], for commands whose answers say nothing but that they were carried out.
    pub(crate) async fn tell(&self, commands: impl IntoIterator<Item = Cmd>) -> Result<()> {
        self.run::<Value>(commands).await.map(drop)
    }

    /// Like [`Self::run_script`], for calls whose answers say nothing but that they were carried out.
    pub(crate) async fn tell_script(
        &self,
        script: &Script,
        calls: impl IntoIterator<Item = ScriptCall>,
    ) -> Result<()> {
        self.run_script::<Value>(script, calls).await.map(drop)
    }

    async fn ask(&self, prelude: Option<&Cmd>, commands: Vec<Cmd>) -> Result<Vec<Value>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        match self.deployment.as_ref() {
            Deployment::Cluster(cluster) => self.guard(cluster.ask(prelude, commands)).await,
            Deployment::Single(node) => {
                let mut pipeline = Pipeline::with_capacity(commands.len() + 1);
                pipeline.ignore_errors();
                if let Some(prelude) = prelude {
                    pipeline.add_command(prelude.clone()).ignore();
                }
                for command in commands {
                    pipeline.add_command(command);
                }
                self.guard(node.ask(&pipeline)).await
            }
        }
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
        let mut answers = self.ask(None, vec![command]).await?;
        read(answers.pop().unwrap_or(Value::Nil))
    }

    /// The server that holds a key, by its address.
    pub(crate) async fn server_of(&self, key: &str) -> Result<String> {
        match self.deployment.as_ref() {
            Deployment::Cluster(cluster) => self.guard(cluster.address_of(key)).await,
            Deployment::Single(node) => Ok(node.address()),
        }
    }

    /// Some keys of the server that holds `beside`: the cursor to go on with, 0 at the end, and those that match.
    pub(crate) async fn scan(
        &self,
        beside: &str,
        cursor: u64,
        pattern: &str,
        count: usize,
    ) -> Result<(u64, Vec<String>)> {
        let mut pipeline = Pipeline::new();
        pipeline.cmd("SCAN").arg(cursor);
        pipeline.arg("MATCH").arg(pattern).arg("COUNT").arg(count);
        let answers = match self.deployment.as_ref() {
            Deployment::Cluster(cluster) => self.guard(cluster.ask_beside(beside, &pipeline)).await,
            Deployment::Single(node) => self.guard(node.ask(&pipeline)).await,
        };
        read(answers?.pop().unwrap_or(Value::Nil))
    }

    /// Any command, for tests and tools.
    pub async fn raw(&self, command: Cmd) -> Result<Value> {
        self.one(command).await
    }
}

/// The keys and the arguments of one call of a script.
pub(crate) type ScriptCall = (Vec<String>, Vec<Vec<u8>>);

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

/// `ca_cert` is the authority that must have signed the server's certificate; `None` for the public ones.
fn client(url: &str, ca_cert: Option<Vec<u8>>) -> Result<Client> {
    let info = url
        .into_connection_info()?
        .set_tcp_settings(node::tcp_settings());
    Ok(match ca_cert {
        None => Client::open(info)?,
        root_cert => {
            let certificates = TlsCertificates {
                client_tls: None,
                root_cert,
            };
            Client::build_with_tls(info, certificates)?
        }
    })
}

fn read_all<T: FromRedisValue>(answers: Vec<Value>) -> Result<Vec<T>> {
    answers.into_iter().map(read).collect()
}

/// One answer of several that were asked for together.
pub(crate) fn read<T: FromRedisValue>(answer: Value) -> Result<T> {
    let answer = answer.extract_error()?;
    Ok(from_redis_value(answer).map_err(redis::RedisError::from)?)
}

fn is_missing_script(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(error) if error.kind() == Some(ServerErrorKind::NoScript))
}
