//! A local cloud as a child process.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hyper::Method;
use serde::Deserialize;
use tokio::sync::{Mutex as Turns, MutexGuard, Notify};
use tokio::time::sleep;

use crate::client::{Client, Turn};
use crate::http::Http;
use crate::patience::stretched;
use crate::target::{Endpoints, LocalEndpoints, Target, skip};

const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(5);
const LOG_TAIL: usize = 40;
const PAGE_DELIVERED: &str = "fan-out page delivered";

/// One test makes more requests than one person may. The limits are there, but out of reach; a test of them sets its own.
/// The same for the watch over the cache: several tests at once on one machine would each have one.
/// Streams on demand have two shards here, and a consumer takes as many batches of each at once as Lambda can: so whatever
/// goes wrong out of order has its chance.
const NO_HURRY: [(&str, &str); 5] = [
    ("READS_PER_MINUTE", "600000"),
    ("WRITES_PER_MINUTE", "600000"),
    ("CACHE_WATCH_SECONDS", "0"),
    ("STREAM_MODE", "ON_DEMAND"),
    ("PARALLEL_BATCHES", "10"),
];

/// Own local clouds run one at a time: each brings a Redis, a DynamoDB and a sandbox or more for every function.
static OWN_CLOUDS: Turns<()> = Turns::const_new(());

/// A local cloud that one test has to itself, to flush, to kill in and to fill.
#[derive(Debug)]
pub struct LocalCloud {
    client: Client,
    target: Target,
    _turn: Option<MutexGuard<'static, ()>>,
}

/// A process that waits for, or works on, invocations of one function.
#[derive(Clone, Debug, Deserialize)]
pub struct Sandbox {
    pub function: String,
    pub pid: u32,
    pub busy: bool,
}

/// What one invocation of the fan-out says that it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub function: String,
    /// Hand-overs between the tweet's event and this page.
    pub depth: u64,
    pub followers: u64,
    pub delivered: u64,
}

/// What one invocation of `count-follows` says that it did, in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub edges: u64,
    /// Whose rows changed.
    pub users: u64,
}

/// Kills within this time at most, whatever a test forgets to stop.
const KILLING_LIMIT: Duration = Duration::from_secs(60);

impl LocalCloud {
    /// Starts one with these template parameters, when no other test has one.
    pub async fn start(parameters: &[(&str, &str)]) -> Self {
        let turn = OWN_CLOUDS.lock().await;
        let shared = Turn::shared().await;
        let target = Process::start(parameters).await;
        Self {
            client: Client::new(target.clone(), shared),
            target,
            _turn: Some(turn),
        }
    }

    /// Starts a second one beside this one, to compare the two.
    pub async fn start_beside(&self, parameters: &[(&str, &str)]) -> Self {
        let shared = Turn::shared().await;
        let target = Process::start(parameters).await;
        Self {
            client: Client::new(target.clone(), shared),
            target,
            _turn: None,
        }
    }

    /// Like [`Self::start`], or says that the test is skipped because the deployment under test is not ours to break.
    ///
    /// Whatever breaks is mostly the stream, so nobody is delivered before their POST is answered, unless a test asks for
    /// it. On the cloud that tests share, small authors are.
    pub async fn for_test(parameters: &[(&str, &str)]) -> Option<Self> {
        if Target::is_remote() {
            skip("it breaks things, so it needs a local cloud of its own");
            return None;
        }
        let by_stream = [&[("SYNC_FAN_OUT_FOLLOWERS", "0")], parameters].concat();
        Some(Self::start(&by_stream).await)
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub async fn sandboxes(&self) -> Vec<Sandbox> {
        let url = format!("{}/dev/sandboxes", self.target.endpoints.http);
        self.client
            .http()
            .send(Method::GET, &url, &[], Vec::new())
            .await
            .expect("the local cloud lists its sandboxes")
            .expect(200)
            .read()
    }

    /// Ends a sandbox as a crash would. False if it was gone already.
    pub fn kill(&self, sandbox: &Sandbox) -> bool {
        signal("KILL", sandbox.pid)
    }

    /// Kills a sandbox of one of these functions, rather one that is at work, again and again after so many milliseconds,
    /// until told to stop. Gives the number.
    pub async fn keep_killing(
        &self,
        functions: &[&str],
        pause_ms: Range<u64>,
        mut random: fastrand::Rng,
        stop: &Notify,
    ) -> usize {
        let started = Instant::now();
        let mut killed = 0;
        let stopped = stop.notified();
        tokio::pin!(stopped);
        while started.elapsed() < KILLING_LIMIT {
            let pause = Duration::from_millis(random.u64(pause_ms.clone()));
            if tokio::time::timeout(pause, &mut stopped).await.is_ok() {
                break;
            }
            let mut victims = self.sandboxes().await;
            victims.retain(|sandbox| functions.contains(&sandbox.function.as_str()));
            let busy: Vec<_> = victims.iter().filter(|sandbox| sandbox.busy).collect();
            let victim = if busy.is_empty() {
                random.choice(&victims)
            } else {
                random.choice(busy)
            };
            killed += usize::from(victim.is_some_and(|sandbox| self.kill(sandbox)));
        }
        killed
    }

    /// What functions have in their environment here, all functions together.
    pub fn environment(&self) -> BTreeMap<String, String> {
        self.target.environment().expect("a local cloud writes env")
    }

    /// Everything that the cloud and its functions have written so far.
    pub fn log(&self) -> String {
        self.target.log.as_deref().map(read_log).unwrap_or_default()
    }

    /// What the log says of counting follows.
    pub fn counted(&self) -> Vec<Counted> {
        let log = self.target.log.as_deref().map(read_log).unwrap_or_default();
        log.lines()
            .filter(|line| line.contains("follows counted"))
            .map(without_colours)
            .filter_map(|line| {
                Some(Counted {
                    edges: field(&line, "edges")?,
                    users: field(&line, "users")?,
                })
            })
            .collect()
    }

    /// By tweet, how old each was when the last of its fan-out was done, in milliseconds. A tweet that was not fanned
    /// out is not in it.
    pub fn fan_out_ages(&self) -> HashMap<u64, u64> {
        let log = self.target.log.as_deref().map(read_log).unwrap_or_default();
        let mut ages = HashMap::new();
        for line in log.lines().filter(|line| line.contains(PAGE_DELIVERED)) {
            let line = without_colours(line);
            if let (Some(tweet), Some(age)) = (field(&line, "tweet_id"), field(&line, "age_ms")) {
                let last = ages.entry(tweet).or_insert(age);
                *last = age.max(*last);
            }
        }
        ages
    }

    /// What the log says of this tweet's fan-out.
    pub fn deliveries(&self, tweet: u64) -> Vec<Delivery> {
        let log = self.target.log.as_deref().map(read_log).unwrap_or_default();
        log.lines()
            .filter_map(|line| delivery(line, tweet))
            .collect()
    }
}

fn delivery(line: &str, tweet: u64) -> Option<Delivery> {
    let line = without_colours(line);
    if !line.contains(PAGE_DELIVERED) || field(&line, "tweet_id")? != tweet {
        return None;
    }
    let function = ["post-tweet", "fan-out-tweets", "fan-out-pages"]
        .into_iter()
        .find(|name| line.starts_with(name))?;
    let number = |name| field(&line, name).unwrap_or_default();
    Some(Delivery {
        function: function.to_owned(),
        depth: number("depth"),
        followers: number("followers"),
        delivered: number("delivered"),
    })
}

/// A number out of a log line, be it `"name":1`, `"name":"1"` or `name=1`.
pub fn field(line: &str, name: &str) -> Option<u64> {
    line.match_indices(name).find_map(|(start, _)| {
        let starts_here =
            !line[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
        let value = line[start + name.len()..]
            .trim_start_matches('"')
            .strip_prefix([':', '='])?
            .trim_start_matches([' ', '"']);
        let digits = value
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(value.len());
        value[..digits].parse().ok().filter(|_| starts_here)
    })
}

fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    plain + rest
}

fn read_log(log: &Path) -> String {
    fs::read(log)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// The child. It ends with its parent, so it cannot outlive the tests, however they end.
pub(crate) struct Process {
    child: Mutex<Child>,
    log: PathBuf,
}

impl Process {
    pub(crate) async fn start(parameters: &[(&str, &str)]) -> Target {
        let binary = beside_the_tests().join("roost-local");
        assert!(
            binary.exists(),
            "{} is missing: build the workspace first (cargo build --workspace)",
            binary.display()
        );
        let state = fresh_folder();
        let log = state.join("log");
        let file = File::create(&log).expect("a log can be made in a folder of our own");
        let parameters: BTreeMap<_, _> = parameters.iter().copied().collect();
        let ports = [
            "HTTP_PORT",
            "DYNAMODB_PORT",
            "KINESIS_PORT",
            "REDIS_PORT",
            "LAMBDA_PORT",
            "WEBSOCKET_PORT",
        ]
        .map(|name| (name, "0"));
        let child = Command::new(&binary)
            .envs(ports)
            .envs(NO_HURRY)
            // The log has the functions' lines as they wrote them.
            .env("ROOST_VERBOSE", "true")
            .env("ROOST_WEB_DIR", workspace().join("local/web"))
            .envs(parameters)
            .env("ROOST_TEMPLATE", workspace().join("template.yaml"))
            .env("ROOST_STATE_DIR", &state)
            .env("ROOST_STOP_WITH_PARENT", "1")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a second handle on the log"))
            .stderr(file)
            .spawn()
            .unwrap_or_else(|e| panic!("{} does not start: {e}", binary.display()));
        let process = Arc::new(Self {
            child: Mutex::new(child),
            log: log.clone(),
        });
        let endpoints = process.wait_until_ready(&state).await;
        Target {
            endpoints,
            stack: "roost".to_owned(),
            log: Some(log),
            _process: Some(process),
        }
    }

    async fn wait_until_ready(&self, state: &Path) -> Endpoints {
        let http = Http::new();
        let limit = stretched(START_LIMIT);
        let started = Instant::now();
        loop {
            if let Ok(Some(status)) = self
                .child
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .try_wait()
            {
                panic!(
                    "the local cloud ended at start: {status}{}",
                    self.log_tail()
                );
            }
            // Half-written is the same as not yet written.
            let read = fs::read(state.join("endpoints.json"))
                .ok()
                .and_then(|text| serde_json::from_slice::<LocalEndpoints>(&text).ok());
            if let Some(endpoints) = read.map(Endpoints::from) {
                let health = http
                    .send(
                        Method::GET,
                        &format!("{}/healthz", endpoints.http),
                        &[],
                        Vec::new(),
                    )
                    .await;
                if health.is_ok_and(|answer| answer.status == 200) {
                    return endpoints;
                }
            }
            assert!(
                started.elapsed() < limit,
                "the local cloud was not ready after {limit:?}{}",
                self.log_tail()
            );
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn log_tail(&self) -> String {
        let log = read_log(&self.log);
        let lines: Vec<_> = log.lines().collect();
        let mut text = format!("\n{} ends:", self.log.display());
        for line in &lines[lines.len().saturating_sub(LOG_TAIL)..] {
            let _ = write!(text, "\n  {line}");
        }
        text
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        signal("TERM", child.id());
        if !ends_within(&mut child, STOP_LIMIT) {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Whatever the test was about, nothing that a client sent may be in a log line.
        if !thread::panicking() {
            let log = read_log(&self.log);
            let indiscreet = log.lines().find(|line| is_indiscreet(line));
            assert!(
                indiscreet.is_none(),
                "a log line tells too much: {indiscreet:?}"
            );
        }
    }
}

/// Is this line a request's? Only there may be what a client put into a path.
pub fn is_request(line: &str) -> bool {
    let writer = line.split_once(" | ").map(|(writer, _)| writer.trim_end());
    writer == Some("http")
}

/// Does this line hold a token, or the text of a tweet as tests post them?
fn is_indiscreet(line: &str) -> bool {
    // A JWT is base64 of JSON, which begins with `{"`, and has several parts; the cursor in a path may be base64 as well,
    // but has only one. Texts are `number 3 of somebody`.
    let has_token = line.contains(if is_request(line) { ".eyJ" } else { "eyJ" });
    let has_text = line.match_indices("number ").any(|(at, found)| {
        let rest = line[at + found.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with(" of ")
    });
    has_token || has_text
}

fn ends_within(child: &mut Child, limit: Duration) -> bool {
    let started = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if started.elapsed() > limit {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}

/// A shell has `kill` built in on every system; std can only kill, and only its own children.
pub fn signal(name: &str, pid: u32) -> bool {
    let shell = Command::new("sh")
        .args(["-c", "kill -s \"$0\" \"$1\"", name, &pid.to_string()])
        .stderr(Stdio::null())
        .status();
    shell.is_ok_and(|status| status.success())
}

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are in a workspace")
        .to_owned()
}

/// `target/<profile>`. Cargo puts tests into its folder `deps`, and other binaries beside the functions.
pub fn beside_the_tests() -> PathBuf {
    let running = env::current_exe().expect("the running binary has a path");
    let folder = running.parent().expect("a binary is in a folder");
    let profile = folder.parent().filter(|_| folder.ends_with("deps"));
    profile.unwrap_or(folder).to_owned()
}

/// A folder of this process; those of processes that are gone are removed, so that a failure's log stays until the next run.
pub fn fresh_folder() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    static SWEEP: Once = Once::new();
    let all = env::temp_dir().join("roost-tests");
    SWEEP.call_once(|| {
        for folder in fs::read_dir(&all).into_iter().flatten().flatten() {
            let name = folder.file_name().to_string_lossy().into_owned();
            let alive = name
                .split('-')
                .next()
                .is_some_and(|pid| Path::new("/proc").join(pid).exists());
            if !alive {
                let _ = fs::remove_dir_all(folder.path());
            }
        }
    });
    let folder = all.join(format!(
        "{}-{}",
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::Relaxed)
    ));
    fs::create_dir_all(&folder)
        .unwrap_or_else(|e| panic!("{} cannot be made: {e}", folder.display()));
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_texts_are_found_in_every_line_and_cursors_in_paths_are_let_pass() {
        for line in [
            r#"post-tweet | {"fields":{"message":"number 3 of alice"}}"#,
            r#"post-tweet | {"fields":{"message":"eyJhbGciOi"}}"#,
            "roost      | post-tweet failed: eyJhbGciOi",
            "http       | 08:41:03.577 GET /v1/users/me?token=eyJhbGciOi.eyJzdWIi.x 400 1 ms -",
            "http       | 08:41:03.577 POST /v1/tweets 422 1 ms alice  number 3 of alice is too long",
        ] {
            assert!(is_indiscreet(line), "{line}");
        }
        for line in [
            r#"post-tweet | {"fields":{"message":"tweet posted"}}"#,
            "http       | 08:41:03.577 GET /v1/users/me/mutes?cursor=eyJ2IjoxfQ 200 1 ms alice",
        ] {
            assert!(!is_indiscreet(line), "{line}");
        }
    }

    #[test]
    fn deliveries_are_read_from_json_and_from_logfmt() {
        let expected = Some(Delivery {
            function: "fan-out-pages".to_owned(),
            depth: 3,
            followers: 500,
            delivered: 7,
        });
        for line in [
            r#"fan-out-pages  | {"message":"fan-out page delivered","tweet_id":"12","depth":3,"followers":500,"delivered":7}"#,
            r#"fan-out-pages  | {"fields":{"message":"fan-out page delivered","tweet_id":12,"depth": 3,"followers": 500,"delivered": 7}}"#,
            "fan-out-pages | INFO fan-out page delivered tweet_id=12 depth=3 followers=500 delivered=7",
            "\x1b[31mfan-out-pages\x1b[0m | fan-out page delivered \x1b[3mtweet_id\x1b[0m\x1b[2m=\x1b[0m12 depth=3 followers=500 delivered=7",
        ] {
            assert_eq!(delivery(line, 12), expected, "{line}");
            assert_eq!(delivery(line, 1), None, "{line}");
        }
    }
}
