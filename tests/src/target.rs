//! Which deployment is tested, and whose turn it is.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use serde::Deserialize;
use tokio::sync::OnceCell;

use crate::local_cloud::Process;

/// Where a deployment answers. What is absent is out of the tests' reach.
#[derive(Clone, Debug)]
pub struct Endpoints {
    pub http: String,
    pub token: String,
    pub dynamodb: Option<String>,
    pub kinesis: Option<String>,
    pub redis: Option<String>,
    pub lambda: Option<String>,
    /// Where the WebSocket API listens, if not where the deployment says itself.
    pub websocket: Option<String>,
}

/// A deployment under test. Belongs to no runtime, so all tests of the process can share it.
#[derive(Clone, Debug)]
pub struct Target {
    pub endpoints: Endpoints,
    /// What names of tables and streams begin with.
    pub stack: String,
    /// The log of a local cloud.
    pub log: Option<PathBuf>,
    /// Keeps the local cloud alive as long as anyone tests it.
    pub(crate) _process: Option<Arc<Process>>,
}

impl Target {
    /// The deployment that all tests share which do not break it.
    pub async fn get() -> Self {
        static SHARED: OnceCell<Target> = OnceCell::const_new();
        let target = SHARED.get_or_init(|| async {
            match env::var("ROOST_URL") {
                Ok(url) => Self::remote(url.trim_end_matches('/')),
                // A static is never dropped; this local cloud ends with the process, its parent.
                Err(_) => Process::start(&[]).await,
            }
        });
        target.await.clone()
    }

    /// What functions have in their environment on a local cloud, all functions together.
    pub fn environment(&self) -> Option<BTreeMap<String, String>> {
        let file = self.log.as_deref()?.with_file_name("env");
        let variables = fs::read_to_string(file).ok()?;
        let variables = variables.lines().map(|line| {
            let (name, value) = line.split_once("='").unwrap_or_default();
            let value = value.strip_suffix('\'');
            let value = value.expect("cargo lambda refuses some values that are not in quotes");
            (name.to_owned(), value.to_owned())
        });
        Some(variables.collect())
    }

    pub fn is_remote() -> bool {
        env::var_os("ROOST_URL").is_some()
    }

    fn remote(url: &str) -> Self {
        let named = |variable: &str| env::var(variable).ok().filter(|value| !value.is_empty());
        Self {
            endpoints: Endpoints {
                http: url.to_owned(),
                token: named("ROOST_TOKEN_URL").unwrap_or_else(|| format!("{url}/dev/token")),
                dynamodb: named("ROOST_DYNAMODB_URL"),
                kinesis: named("ROOST_KINESIS_URL"),
                redis: named("ROOST_REDIS_URL"),
                lambda: None,
                websocket: named("ROOST_LIVE_URL"),
            },
            stack: named("ROOST_STACK").unwrap_or_else(|| "roost".to_owned()),
            log: None,
            _process: None,
        }
    }
}

/// `endpoints.json` of a local cloud.
#[derive(Debug, Deserialize)]
pub(crate) struct LocalEndpoints {
    http: String,
    dynamodb: String,
    kinesis: String,
    redis: String,
    lambda: String,
    websocket: String,
}

impl From<LocalEndpoints> for Endpoints {
    fn from(local: LocalEndpoints) -> Self {
        let url = |address: String, scheme: &str| {
            let address = if address.contains("://") {
                address
            } else {
                format!("{scheme}://{address}")
            };
            address.trim_end_matches('/').to_owned()
        };
        let http = url(local.http, "http");
        Self {
            token: format!("{http}/dev/token"),
            http,
            dynamodb: Some(url(local.dynamodb, "http")),
            kinesis: Some(url(local.kinesis, "http")),
            redis: Some(url(local.redis, "redis")),
            lambda: Some(url(local.lambda, "http")),
            websocket: Some(url(local.websocket, "ws")),
        }
    }
}

/// Says why a test proves nothing here. The test then returns.
pub fn skip(why: &str) {
    println!(
        "skipped: {}: {why}",
        thread::current().name().unwrap_or("a test")
    );
}
