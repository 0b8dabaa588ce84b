//! Watches a local cloud while actions are performed, and says what they caused.
//!
//! Tables and streams are counted by the [`Meter`], invocations by the cloud's own events, the cache by what Redis says of
//! itself, processor time by what the kernel says of each sandbox, and log bytes by what functions write. What runs on a
//! schedule is left out: it belongs to the idle deployment.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use roost_tests::{Cache, EventStream, LocalCloud, Meter, Method};
use tokio::time::sleep;

use crate::counts::Counts;

/// Everything that an action causes is over when nothing happened for so long. Longer than any batching window.
const QUIET: Duration = Duration::from_millis(2_500);
/// The local cloud passes on 300 events a second; an action makes up to a dozen.
const PACE: Duration = Duration::from_millis(40);
/// What CloudWatch adds to each line of a log.
const LOG_LINE_BYTES: usize = 26;

const SCHEDULED: [&str; 4] = [
    "warm-timelines",
    "watch-cache",
    "audit-timelines",
    "reconcile-counts",
];

pub(crate) struct Observer {
    pub(crate) cloud: LocalCloud,
    pub(crate) cache: Cache,
    meter: Meter,
    heard: Arc<Mutex<Heard>>,
    /// Memory of each function in MB, as its sandbox says.
    pub(crate) memory_mb: BTreeMap<String, f64>,
}

/// What the cloud's events told.
struct Heard {
    counts: Counts,
    last: Instant,
    missed: u64,
}

impl Heard {
    fn begin(&mut self) {
        (self.counts, self.missed) = (Counts::default(), 0);
    }
}

/// What Redis, the kernel and the log say at one moment.
struct Moment {
    cache: Counts,
    /// Nanoseconds of the processor by process.
    processors: BTreeMap<u32, (String, u64)>,
    log_bytes: usize,
}

impl Observer {
    pub(crate) async fn start(parameters: &[(&str, &str)]) -> Self {
        let meter = Meter::start();
        let parameters: Vec<_> = meter
            .parameters()
            .chain(parameters.iter().copied())
            .collect();
        let cloud = LocalCloud::start(&parameters).await;
        let cache = cloud.client().cache().await.expect("a Redis");
        let heard = Arc::new(Mutex::new(Heard {
            counts: Counts::default(),
            last: Instant::now(),
            missed: 0,
        }));
        tokio::spawn(listen(cloud.events().await, Arc::clone(&heard)));
        Self {
            cloud,
            cache,
            meter,
            heard,
            memory_mb: BTreeMap::new(),
        }
    }

    /// What one of `times` actions causes, on average. `act` gets the number of each.
    pub(crate) async fn measure<F: Future<Output = Counts>>(
        &mut self,
        what: &str,
        times: usize,
        mut act: impl FnMut(usize) -> F,
    ) -> Counts {
        self.settle().await;
        let before = self.moment().await;
        self.meter.take();
        // What was lost before, while everything was prepared, is not missing from what follows.
        self.lock().begin();
        let mut counts = Counts::default();
        for number in 0..times {
            let started = Instant::now();
            counts = counts.plus(&act(number).await);
            sleep(PACE.saturating_sub(started.elapsed())).await;
        }
        self.settle().await;
        counts = counts.plus(&self.lock().counts);
        counts = counts.plus(&self.metered());
        let after = self.moment().await;
        let asking = self.moment().await.cache.minus(&after.cache);
        counts = counts.plus(&after.cache.clone().minus(&before.cache).minus(&asking));
        counts.add(
            "log_bytes",
            after.log_bytes.saturating_sub(before.log_bytes) as f64,
        );
        for (pid, (function, nanoseconds)) in &after.processors {
            // One that was started meanwhile has its start in it, which is rare where many are served.
            if let Some((_, earlier)) = before.processors.get(pid) {
                let ms = nanoseconds.saturating_sub(*earlier) as f64 / 1e6;
                counts.add(format!("cpu_ms:{function}"), ms);
            }
        }
        let missed = self.lock().missed;
        assert_eq!(
            missed, 0,
            "events were lost, so invocations are not all counted"
        );
        let one = counts.times(1.0 / times as f64);
        println!(
            "  {what}: {:.1} invocations, {:.1} reads, {:.1} writes, {:.1} commands, {:.2} ms of processor",
            one.all("invocations"),
            one.all("reads"),
            one.all("writes"),
            one.all("cache_commands"),
            one.all("cpu_ms"),
        );
        one
    }

    /// Ends the sandboxes of a function, so that none remembers a caller.
    pub(crate) async fn forget_callers(&self, function: &str) {
        let body = format!(r#"{{"function":"{function}"}}"#);
        loop {
            let answer = self.cloud.ask(Method::POST, "/dev/kill", &body).await;
            if answer.status != 200 {
                return;
            }
        }
    }

    /// Waits until nothing has happened for a while.
    pub(crate) async fn settle(&self) {
        loop {
            let left = QUIET.saturating_sub(self.lock().last.elapsed());
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }

    fn metered(&self) -> Counts {
        let metered = self.meter.take();
        let mut counts = Counts::default();
        let is_caused = |function: &str| {
            assert_ne!(function, "unknown", "a function asked without its name");
            !SCHEDULED.contains(&function)
        };
        for ((function, table), used) in &metered.tables {
            if is_caused(function) {
                counts.add(format!("reads:{table}"), used.reads);
                counts.add(format!("writes:{table}"), used.writes);
                counts.add(format!("table_requests:{function}"), used.requests as f64);
            }
        }
        for ((function, stream), used) in &metered.streams {
            counts.add(format!("records:{stream}"), used.records as f64);
            counts.add(format!("put_units:{stream}"), used.units as f64);
            counts.add(format!("stream_requests:{function}"), used.requests as f64);
        }
        counts
    }

    async fn moment(&mut self) -> Moment {
        let sandboxes = self.cloud.sandboxes().await;
        let mut processors = BTreeMap::new();
        for sandbox in sandboxes {
            if SCHEDULED.contains(&sandbox.function.as_str()) {
                continue;
            }
            if !self.memory_mb.contains_key(&sandbox.function)
                && let Some(memory) = memory_of(sandbox.pid)
            {
                self.memory_mb.insert(sandbox.function.clone(), memory);
            }
            processors.insert(sandbox.pid, (sandbox.function, nanoseconds_of(sandbox.pid)));
        }
        let log = self.cloud.log();
        let log_bytes = log.lines().filter_map(written_by_a_function);
        Moment {
            log_bytes: log_bytes.sum(),
            processors,
            cache: self.cache_counts().await,
        }
    }

    async fn cache_counts(&self) -> Counts {
        let mut counts = Counts::default();
        let stats: String = self.cache.ask(&["INFO", "stats"]).await;
        for (name, told) in [
            ("cache_bytes_in", "total_net_input_bytes:"),
            ("cache_bytes_out", "total_net_output_bytes:"),
            ("cache_round_trips", "total_reads_processed:"),
        ] {
            let number = stats.lines().find_map(|line| line.strip_prefix(told));
            let number = number.and_then(|number| number.trim().parse().ok());
            counts.add(name, number.expect("a number"));
        }
        let commands: String = self.cache.ask(&["INFO", "commandstats"]).await;
        for line in commands.lines() {
            // `cmdstat_lpushx:calls=12,usec=…`
            let told = line.strip_prefix("cmdstat_");
            let Some((name, told)) = told.and_then(|told| told.split_once(":calls=")) else {
                continue;
            };
            let calls = told.split(',').next().and_then(|calls| calls.parse().ok());
            if name != "info" {
                counts.add(format!("cache_commands:{name}"), calls.unwrap_or_default());
            }
        }
        counts
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn listen(mut events: EventStream, heard: Arc<Mutex<Heard>>) {
    loop {
        let Some(event) = events.next_within(Duration::from_secs(3_600)).await else {
            return;
        };
        events.text.clear();
        let function = event["function"].as_str().unwrap_or_default();
        if SCHEDULED.contains(&function) {
            continue;
        }
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.last = Instant::now();
        match event["type"].as_str() {
            Some("invocation") => {
                let ms = event["ms"].as_f64().unwrap_or_default();
                heard.counts.add(format!("invocations:{function}"), 1.0);
                heard.counts.add(format!("wall_ms:{function}"), ms);
            }
            Some("request") => heard.counts.add("requests", 1.0),
            Some("missed") => heard.missed += event["count"].as_u64().unwrap_or_default(),
            _ => {}
        }
    }
}

/// What the kernel has given to all threads of a process.
fn nanoseconds_of(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let times = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    times.sum()
}

/// What the template says, as the function finds it in its environment.
fn memory_of(pid: u32) -> Option<f64> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let memory = environment
        .split('\0')
        .find_map(|variable| variable.strip_prefix("AWS_LAMBDA_FUNCTION_MEMORY_SIZE="));
    memory?.parse().ok()
}

/// The bytes of a line that CloudWatch would be given.
fn written_by_a_function(line: &str) -> Option<usize> {
    let (writer, text) = line.split_once(" | ")?;
    let is_caused = !SCHEDULED.contains(&writer.trim_end());
    (is_caused && text.starts_with('{')).then(|| text.len() + LOG_LINE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_functions_write_because_of_an_action_is_a_log_line() {
        let written = r#"post-tweet     | {"level":"INFO"}"#;
        assert_eq!(written_by_a_function(written), Some(16 + 26));
        for other in [
            r#"warm-timelines | {"level":"INFO"}"#,
            "http           | 08:41 GET /v1/users/me 200 1 ms",
            "ready",
        ] {
            assert_eq!(written_by_a_function(other), None, "{other}");
        }
    }
}
