//! Lambda: the functions of the template, each with a pool of sandboxes.
//!
//! A sandbox ([`sandbox`]) is one process of the real binary and handles one invocation at a time. It is started when
//! an invocation finds none idle, stays warm, and is replaced when it dies. Beyond a function's concurrency, callers
//! queue. The processes speak to [`runtime_api`]; the outside speaks to [`invoke_api`].

mod invoke_api;
mod runtime_api;
mod sandbox;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

pub(crate) use self::invoke_api::{invoke_asynchronously, serve as serve_invoke_api};
use self::sandbox::{Sandbox, Sandboxes, Spawn};
use crate::error::StartError;
use crate::events::{self, Event, milliseconds};
use crate::template::{self, REGION, function_arn};

/// Sandboxes of a function that reserves no concurrency: enough to see that there are several.
const DEFAULT_CONCURRENCY: u64 = 8;

/// Why an invocation gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum InvokeError {
    /// The function ran and reported an error; the bytes are its error document.
    #[error("{}", error_message(document))]
    Function { document: Bytes },
    #[error("task timed out after {:.2} seconds", limit.as_secs_f64())]
    TimedOut { limit: Duration },
    #[error("the sandbox died: {status}")]
    Died { status: String },
    #[error("the sandbox could not start: {reason}")]
    Init { reason: String },
    #[error("all sandboxes are busy")]
    Busy,
}

/// The message in a function's error document.
fn error_message(document: &Bytes) -> String {
    let read: Option<Value> = serde_json::from_slice(document).ok();
    match read.as_ref().and_then(|read| read["errorMessage"].as_str()) {
        Some(message) => message.trim().to_owned(),
        None => String::from_utf8_lossy(document).into_owned(),
    }
}

/// What calls a function.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trigger {
    Http,
    WebSocket,
    Stream {
        records: usize,
    },
    Schedule,
    /// Somebody from outside, by Lambda's own API.
    Invoke,
}

impl Trigger {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::WebSocket => "websocket",
            Self::Stream { .. } => "stream",
            Self::Schedule => "schedule",
            Self::Invoke => "invoke",
        }
    }

    fn records(self) -> Option<usize> {
        match self {
            Self::Stream { records } => Some(records),
            _ => None,
        }
    }
}

pub(crate) struct Lambda {
    functions: Vec<Arc<Function>>,
    sandboxes: Arc<Sandboxes>,
}

/// What `/dev/sandboxes` lists, for tests that kill one.
#[derive(Debug, Serialize)]
pub(crate) struct SandboxStatus {
    pub(crate) function: String,
    pub(crate) pid: u32,
    pub(crate) busy: bool,
}

impl Lambda {
    /// Checks that every binary is there and opens the runtime API; no process is started yet.
    pub(crate) async fn start(
        functions: &[template::Function],
        binaries: &Path,
        common_environment: &BTreeMap<String, String>,
    ) -> Result<Self, StartError> {
        let sandboxes = Arc::new(Sandboxes::default());
        let variable = "the runtime API";
        let listener =
            TcpListener::bind("127.0.0.1:0")
                .await
                .map_err(|source| StartError::Listen {
                    port: 0,
                    variable,
                    source,
                })?;
        let runtime_api = listener.local_addr().map_err(|source| StartError::Listen {
            port: 0,
            variable,
            source,
        })?;
        let functions = functions
            .iter()
            .map(|function| {
                let path = binaries.join(&function.binary);
                if !path.is_file() {
                    return Err(StartError::MissingBinary {
                        function: function.logical_id.clone(),
                        path,
                    });
                }
                let mut environment = common_environment.clone();
                environment.extend(function.environment.clone());
                environment.extend(reserved_environment(function));
                let spawn = Spawn {
                    function: function.binary.clone(),
                    // By its full path: the sandbox does not care where it was started.
                    program: path.canonicalize().unwrap_or(path),
                    environment,
                    runtime_api,
                    sandboxes: Arc::clone(&sandboxes),
                };
                let concurrency = function.reserved_concurrency.unwrap_or(DEFAULT_CONCURRENCY);
                Ok(Arc::new(Function {
                    logical_id: function.logical_id.clone(),
                    name: function.name.clone(),
                    binary: function.binary.clone(),
                    arn: function_arn(&function.name),
                    timeout: function.timeout,
                    free: Semaphore::new(
                        usize::try_from(concurrency).unwrap_or(Semaphore::MAX_PERMITS),
                    ),
                    idle: Mutex::default(),
                    spawn,
                }))
            })
            .collect::<Result<_, _>>()?;
        tokio::spawn(runtime_api::serve(listener, Arc::clone(&sandboxes)));
        Ok(Self {
            functions,
            sandboxes,
        })
    }

    /// A function by its logical id.
    pub(crate) fn function(&self, logical_id: &str) -> Option<&Arc<Function>> {
        self.functions
            .iter()
            .find(|function| function.logical_id == logical_id)
    }

    /// A function by any of its names: binary, function name, logical id or ARN.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.iter().find(|function| {
            [
                &function.binary,
                &function.name,
                &function.logical_id,
                &function.arn,
            ]
            .iter()
            .any(|known| *known == name)
        })
    }

    pub(crate) fn sandboxes(&self) -> Vec<SandboxStatus> {
        self.sandboxes.status()
    }

    /// Kills one sandbox of this function, or of any, as a crash would: rather one that is at work. Gives what it was.
    pub(crate) async fn kill(&self, function: Option<&str>) -> Option<SandboxStatus> {
        self.sandboxes.kill_one(function).await
    }

    /// Kills every sandbox and waits until it is gone.
    pub(crate) async fn stop(&self) {
        self.sandboxes.stop().await;
    }
}

/// The variables that Lambda itself sets.
fn reserved_environment(function: &template::Function) -> BTreeMap<String, String> {
    let variables = [
        ("AWS_REGION", REGION.to_owned()),
        ("AWS_DEFAULT_REGION", REGION.to_owned()),
        ("AWS_LAMBDA_FUNCTION_NAME", function.name.clone()),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
        (
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
            function.memory_mb.to_string(),
        ),
        (
            "AWS_LAMBDA_LOG_GROUP_NAME",
            format!("/aws/lambda/{}", function.name),
        ),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
        ("_HANDLER", "bootstrap".to_owned()),
        // Not Lambda's, but the SDK's: requests to stores say in their `User-Agent` which function asks.
        ("AWS_SDK_UA_APP_ID", function.binary.clone()),
    ];
    let mut variables = BTreeMap::from(variables.map(|(name, value)| (name.to_owned(), value)));
    // Functions write as the template says; the terminal makes short lines of it.
    for (variable, value) in [
        ("AWS_LAMBDA_LOG_FORMAT", &function.log_format),
        ("AWS_LAMBDA_LOG_LEVEL", &function.log_level),
    ] {
        variables.extend(value.clone().map(|value| (variable.to_owned(), value)));
    }
    variables
}

pub(crate) struct Function {
    pub(crate) logical_id: String,
    pub(crate) name: String,
    pub(crate) binary: String,
    pub(crate) arn: String,
    timeout: Duration,
    /// One permit per sandbox that may run.
    free: Semaphore,
    /// Warm sandboxes without work; the last one used is the next one used.
    idle: Mutex<Vec<Arc<Sandbox>>>,
    spawn: Spawn,
}

impl Function {
    /// Runs the function once. With `patience`, a caller that had to queue longer gives up.
    pub(crate) async fn invoke(
        self: &Arc<Self>,
        payload: Bytes,
        trigger: Trigger,
        patience: Option<Duration>,
    ) -> Result<Bytes, InvokeError> {
        let function = Arc::clone(self);
        // In a task of its own: a caller that goes away does not stop an invocation.
        let invocation = tokio::spawn(async move {
            let permit = match patience {
                None => function.free.acquire().await,
                Some(patience) => {
                    match tokio::time::timeout(patience, function.free.acquire()).await {
                        Ok(permit) => permit,
                        Err(_) => return Err(InvokeError::Busy),
                    }
                }
            };
            let _permit = permit.map_err(|_| InvokeError::Busy)?;
            function.run(payload, trigger).await
        });
        invocation.await.unwrap_or_else(|error| {
            Err(InvokeError::Died {
                status: error.to_string(),
            })
        })
    }

    /// The sandbox that was used last, unless it has died since.
    fn take_idle(&self) -> Option<Arc<Sandbox>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(sandbox) = idle.pop() {
            if sandbox.is_alive() {
                return Some(sandbox);
            }
        }
        None
    }

    async fn run(&self, payload: Bytes, trigger: Trigger) -> Result<Bytes, InvokeError> {
        let started = Instant::now();
        let (answer, is_warm) = self.run_in_a_sandbox(payload).await;
        events::tell(|| Event::Invocation {
            function: self.binary.clone(),
            source: trigger.name(),
            ms: milliseconds(started.elapsed()),
            cold: !is_warm,
            ok: answer.is_ok(),
            records: trigger.records(),
        });
        answer
    }

    /// The answer, and whether the sandbox was there already.
    async fn run_in_a_sandbox(&self, payload: Bytes) -> (Result<Bytes, InvokeError>, bool) {
        loop {
            let warm = self.take_idle();
            let is_warm = warm.is_some();
            let sandbox = match warm {
                Some(sandbox) => sandbox,
                None => match self.spawn.start() {
                    Ok(sandbox) => sandbox,
                    Err(error) => {
                        let reason = error.to_string();
                        return (Err(InvokeError::Init { reason }), false);
                    }
                },
            };
            let answer = sandbox.run(payload.clone(), self.timeout, &self.arn).await;
            match answer {
                // It was killed while it had nothing to do: the function has not seen this event yet.
                Err(InvokeError::Init { .. }) if is_warm => continue,
                Ok(_) | Err(InvokeError::Function { .. }) => {
                    self.idle
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(sandbox);
                }
                Err(_) => {}
            }
            return (answer, is_warm);
        }
    }
}
