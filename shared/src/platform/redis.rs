//! The connection to Valkey or Redis, a single server or a cluster.
//!
//! It is opened on first use and reopened after a failure (see [`node`]). [`Redis::run`] is one round trip, however
//! many commands it carries; in a cluster, one to each shard, all at once (see [`cluster`]). A Redis that does not
//! answer is not asked again for a moment (see [`breaker`]). Its clock is the one that all sandboxes share (see [`clock`]).
//!
//! Commands and values are those of the redis crate. The connection ([`connection`]) is our own: the crate's takes an
//! allocation or more for each command and a general parser for each answer, and a fan-out has thousands of both.

mod batch;
mod breaker;
mod clock;
mod cluster;
mod connection;
mod node;
mod renewable;
mod resp;
mod server;
mod slot;

use std::sync::Arc;
use std::time::Instant;

use redis::{
    Cmd, FromRedisValue, RedisError, RedisResult, ServerErrorKind, Value, cmd, from_redis_value,
};

pub(crate) use self::batch::Batch;
use self::breaker::Breaker;
use self::clock::Clock;
use self::cluster::Cluster;
use self::node::{Node, Question};
use self::server::Server;
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
        let server = Server::new(config.redis_url()?, config.redis_ca_cert()?)?;
        Ok(if config.redis_cluster()? {
            Self::of(Deployment::Cluster(Cluster::new(server)))
        } else {
            Self::of(Deployment::Single(Box::new(Node::new(server))))
        })
    }

    /// A single server.
    pub fn connect(url: &str) -> Result<Self> {
        let node = Node::new(Server::new(url, None)?);
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
        self.send(self.batch_of(commands)).await
    }

    fn batch_of(&self, commands: impl IntoIterator<Item = Cmd>) -> Batch {
        let commands = commands.into_iter();
        let mut batch = self.batch(commands.size_hint().0);
        for command in commands {
            batch.push(&command);
        }
        batch
    }

    /// Room for so many commands, to be sent together.
    pub(crate) fn batch(&self, commands: usize) -> Batch {
        let is_cluster = matches!(*self.deployment, Deployment::Cluster(_));
        Batch::new(is_cluster, commands)
    }

    /// Like [`Self::run`].
    pub(crate) async fn send<T: FromRedisValue>(&self, batch: Batch) -> Result<Vec<T>> {
        read_all(self.ask(&[], batch).await?)
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
        let attempts = [
            ("EVALSHA", script.sha.as_str(), false),
            ("EVALSHA", script.sha.as_str(), true),
            ("EVAL", script.text, false),
        ];
        let mut answers = vec![Value::Nil; calls.len()];
        let mut open: Vec<usize> = (0..calls.len()).collect();
        for (name, text, loads) in attempts {
            let mut batch = self.batch(open.len());
            for (keys, arguments) in open.iter().map(|n| &calls[*n]) {
                let mut call = cmd(name);
                call.arg(text).arg(keys.len()).arg(keys).arg(arguments);
                batch.push(&call);
            }
            let load = loads.then(|| cmd("SCRIPT").arg("LOAD").arg(script.text).take());
            let load = load.map_or_else(Vec::new, |load| load.get_packed_command());
            let answered = self.ask(&load, batch).await?;
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

    /// `prelude` is a command that goes before the others and is not answered; empty if there is none.
    async fn ask(&self, prelude: &[u8], batch: Batch) -> Result<Vec<Value>> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        match self.deployment.as_ref() {
            Deployment::Cluster(cluster) => self.guard(cluster.ask(prelude, &batch)).await,
            Deployment::Single(node) if prelude.is_empty() => {
                self.guard(node.ask(batch.into())).await
            }
            Deployment::Single(node) => {
                let answers = batch.len() + 1;
                let commands = [prelude, &batch.into_bytes()].concat().into();
                let question = Question { commands, answers };
                let mut answers = self.guard(node.ask(question)).await?;
                Ok(answers.split_off(1))
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
        let mut answers = self.ask(&[], self.batch_of([command])).await?;
        read(answers.pop().unwrap_or(Value::Nil))
    }

    /// The server that holds a key, by its address.
    pub(crate) async fn server_of(&self, key: &str) -> Result<String> {
        match self.deployment.as_ref() {
            Deployment::Cluster(cluster) => self.guard(cluster.address_of(key)).await,
            Deployment::Single(node) => Ok(node.server().address()),
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
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(pattern);
        scan.arg("COUNT").arg(count);
        let mut batch = Batch::new(false, 1);
        batch.push(&scan);
        let question = batch.into();
        let answers = match self.deployment.as_ref() {
            Deployment::Cluster(cluster) => self.guard(cluster.ask_beside(beside, question)).await,
            Deployment::Single(node) => self.guard(node.ask(question)).await,
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

fn read_all<T: FromRedisValue>(answers: Vec<Value>) -> Result<Vec<T>> {
    answers.into_iter().map(read).collect()
}

/// One answer of several that were asked for together.
pub(crate) fn read<T: FromRedisValue>(answer: Value) -> Result<T> {
    // Only transactions have errors within answers, and Roost sends none.
    if let Value::ServerError(error) = answer {
        return Err(RedisError::from(error).into());
    }
    Ok(from_redis_value(answer).map_err(RedisError::from)?)
}

fn is_missing_script(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(error) if error.kind() == Some(ServerErrorKind::NoScript))
}
