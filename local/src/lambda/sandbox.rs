//! A sandbox: one process of a function, which asks the runtime API for work and answers there.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use chrono::Utc;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use uuid::Uuid;

use super::{InvokeError, SandboxStatus};
use crate::output;

/// Lambda's limit on the time between the start of a process and its first question for work.
const INIT_LIMIT: Duration = Duration::from_secs(10);
/// An answer that was sent just before the process ended may still be on its way.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// All sandboxes that are alive.
#[derive(Default)]
pub(super) struct Sandboxes {
    alive: Mutex<BTreeMap<u64, Arc<Sandbox>>>,
    last_id: AtomicU64,
    /// Once set, nothing is started any more.
    stopping: AtomicBool,
}

impl Sandboxes {
    fn alive(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Sandbox>>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, id: u64) -> Option<Arc<Sandbox>> {
        self.alive().get(&id).cloned()
    }

    pub(super) fn status(&self) -> Vec<SandboxStatus> {
        let alive = self.alive();
        alive.values().map(|sandbox| sandbox.status()).collect()
    }

    /// Ends one, a busy one if there is any, and waits until it is gone.
    pub(super) async fn kill_one(&self, function: Option<&str>) -> Option<SandboxStatus> {
        let victim = {
            let alive = self.alive();
            let fitting = alive.values().filter(|sandbox| {
                function.is_none_or(|name| sandbox.function == name) && sandbox.is_alive()
            });
            // Of equals, the last one: the one that was started last.
            fitting.max_by_key(|sandbox| sandbox.is_busy()).cloned()
        }?;
        let status = victim.status();
        victim.kill.notify_one();
        victim.ended().await;
        Some(status)
    }

    pub(super) async fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let all: Vec<Arc<Sandbox>> = self.alive().values().cloned().collect();
        for sandbox in &all {
            sandbox.kill.notify_one();
        }
        for sandbox in &all {
            sandbox.ended().await;
        }
    }
}

/// How to start a sandbox of one function.
pub(super) struct Spawn {
    pub(super) function: String,
    pub(super) program: PathBuf,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) runtime_api: SocketAddr,
    pub(super) sandboxes: Arc<Sandboxes>,
}

impl Spawn {
    pub(super) fn start(&self) -> std::io::Result<Arc<Sandbox>> {
        if self.sandboxes.stopping.load(Ordering::SeqCst) {
            return Err(std::io::Error::other("the local cloud is stopping"));
        }
        let id = self.sandboxes.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let log_stream = format!(
            "{}/[$LATEST]{}",
            Utc::now().format("%Y/%m/%d"),
            Uuid::new_v4().simple()
        );
        // Held until the sandbox is known: a process that is quick would ask for work before that, and be sent away.
        let mut alive = self.sandboxes.alive();
        let mut child = Command::new(&self.program)
            .env_clear()
            .envs(&self.environment)
            .env("AWS_LAMBDA_LOG_STREAM_NAME", log_stream)
            // A path of its own tells the sandboxes apart at one port; the Rust runtime takes a URL here.
            .env(
                "AWS_LAMBDA_RUNTIME_API",
                format!("http://{}/{id}", self.runtime_api),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the parent, which then stops its children in order.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        forward_lines(&self.function, child.stdout.take());
        forward_lines(&self.function, child.stderr.take());
        let (work, inbox) = mpsc::channel(1);
        let (end, ended) = watch::channel(None);
        let sandbox = Arc::new(Sandbox {
            function: self.function.clone(),
            pid: child.id().unwrap_or_default(),
            busy: AtomicBool::new(false),
            work,
            inbox: tokio::sync::Mutex::new(inbox),
            current: Mutex::default(),
            kill: Notify::new(),
            ended,
        });
        alive.insert(id, Arc::clone(&sandbox));
        drop(alive);
        tokio::spawn(supervise(
            Arc::clone(&self.sandboxes),
            id,
            Arc::clone(&sandbox),
            child,
            end,
        ));
        Ok(sandbox)
    }
}

/// Waits for the end of the process, ends it if asked to, and tells everybody who waits for it.
async fn supervise(
    sandboxes: Arc<Sandboxes>,
    id: u64,
    sandbox: Arc<Sandbox>,
    mut child: Child,
    end: watch::Sender<Option<String>>,
) {
    let status = tokio::select! {
        status = child.wait() => status,
        () = sandbox.kill.notified() => {
            let _ = child.start_kill();
            child.wait().await
        }
    };
    sandboxes.alive().remove(&id);
    end.send_replace(Some(
        status.map_or_else(|error| error.to_string(), |status| status.to_string()),
    ));
}

fn forward_lines(function: &str, pipe: Option<impl AsyncRead + Unpin + Send + 'static>) {
    let Some(pipe) = pipe else { return };
    let function = function.to_owned();
    tokio::spawn(async move {
        let mut lines = BufReader::new(pipe).split(b'\n');
        while let Ok(Some(line)) = lines.next_segment().await {
            output::pass_on(&function, String::from_utf8_lossy(&line).trim_end());
        }
    });
}

/// What a function answered.
pub(super) enum Answer {
    Response(Bytes),
    Error(Bytes),
}

/// An event on its way to a process.
pub(super) struct Invocation {
    pub(super) request_id: Uuid,
    pub(super) payload: Bytes,
    pub(super) deadline_ms: i64,
    pub(super) function_arn: String,
    timeout: Duration,
    taken: oneshot::Sender<()>,
    answer: oneshot::Sender<Answer>,
}

pub(super) struct Sandbox {
    function: String,
    pid: u32,
    busy: AtomicBool,
    work: mpsc::Sender<Invocation>,
    inbox: tokio::sync::Mutex<mpsc::Receiver<Invocation>>,
    /// The invocation that the process works on, until it answers.
    current: Mutex<Option<(Uuid, oneshot::Sender<Answer>)>>,
    kill: Notify,
    /// How the process ended, once it did.
    ended: watch::Receiver<Option<String>>,
}

impl Sandbox {
    fn status(&self) -> SandboxStatus {
        SandboxStatus {
            function: self.function.clone(),
            pid: self.pid,
            busy: self.is_busy(),
        }
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// Gives the process one event and waits for its answer, its end or the timeout. [`InvokeError::Init`] says that
    /// the process never took the event.
    pub(super) async fn run(
        &self,
        payload: Bytes,
        timeout: Duration,
        function_arn: &str,
    ) -> Result<Bytes, InvokeError> {
        self.busy.store(true, Ordering::Relaxed);
        let answer = self.hand_over(payload, timeout, function_arn).await;
        self.busy.store(false, Ordering::Relaxed);
        answer
    }

    async fn hand_over(
        &self,
        payload: Bytes,
        timeout: Duration,
        function_arn: &str,
    ) -> Result<Bytes, InvokeError> {
        let (taken, was_taken) = oneshot::channel();
        let (answer, mut answered) = oneshot::channel();
        let invocation = Invocation {
            request_id: Uuid::new_v4(),
            payload,
            deadline_ms: 0,
            function_arn: function_arn.to_owned(),
            timeout,
            taken,
            answer,
        };
        let died_early = |reason: String| InvokeError::Init { reason };
        self.work
            .try_send(invocation)
            .map_err(|_| died_early("it is gone".to_owned()))?;
        tokio::select! {
            biased;
            _ = was_taken => {}
            status = self.ended() => return Err(died_early(status)),
            () = tokio::time::sleep(INIT_LIMIT) => {
                self.kill.notify_one();
                return Err(died_early(format!("it asked for no work within {} s", INIT_LIMIT.as_secs())));
            }
        }
        // The time that starting took is not the invocation's.
        let answer = tokio::select! {
            biased;
            answer = &mut answered => answer.ok(),
            status = self.ended() => match tokio::time::timeout(LAST_WORDS, &mut answered).await {
                Ok(Ok(answer)) => Some(answer),
                _ => return Err(InvokeError::Died { status }),
            },
            () = tokio::time::sleep(timeout) => {
                self.kill.notify_one();
                self.ended().await;
                return Err(InvokeError::TimedOut { limit: timeout });
            }
        };
        match answer {
            Some(Answer::Response(response)) => Ok(response),
            Some(Answer::Error(document)) => Err(InvokeError::Function { document }),
            None => Err(InvokeError::Died {
                status: "it took other work".to_owned(),
            }),
        }
    }

    /// The next event for the process, as soon as there is one.
    pub(super) async fn next_invocation(&self) -> Option<(Uuid, Bytes, i64, String)> {
        let mut invocation = self.inbox.lock().await.recv().await?;
        let timeout_ms = i64::try_from(invocation.timeout.as_millis()).unwrap_or(i64::MAX);
        invocation.deadline_ms = Utc::now().timestamp_millis().saturating_add(timeout_ms);
        let Invocation {
            request_id,
            payload,
            deadline_ms,
            function_arn,
            taken,
            answer,
            ..
        } = invocation;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some((request_id, answer));
        let _ = taken.send(());
        Some((request_id, payload, deadline_ms, function_arn))
    }

    /// Takes the process's answer; false if it works on no such invocation.
    pub(super) fn answer(&self, request_id: &str, answer: Answer) -> bool {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match current.take() {
            Some((id, waiting)) if id.to_string() == request_id => {
                let _ = waiting.send(answer);
                true
            }
            other => {
                *current = other;
                false
            }
        }
    }

    /// Whether the process is still there. A kill is known to the kernel a moment before it is known here, and in that
    /// moment an event would be handed to a dead process.
    pub(super) fn is_alive(&self) -> bool {
        if self.ended.borrow().is_some() {
            return false;
        }
        match std::fs::read_to_string(format!("/proc/{}/stat", self.pid)) {
            // `pid (name) state …`, where Z is a process that has ended but was not waited for.
            Ok(stat) => stat
                .rsplit(") ")
                .next()
                .is_some_and(|rest| !rest.starts_with(['Z', 'X'])),
            // Only Linux has this file.
            Err(_) => true,
        }
    }

    async fn ended(&self) -> String {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(status) => status.clone().unwrap_or_default(),
            Err(_) => "it is gone".to_owned(),
        }
    }
}
