//! Which processes keep the machine busy.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use roost_tests::LocalCloud;

/// Ticks of a second, in which Linux counts.
const TICKS: f64 = 100.0;

/// Whose time it is.
pub(crate) const GROUPS: [&str; 4] = [
    "the functions",
    "the local cloud (gateway, tables, streams)",
    "Redis",
    "the program that asks",
];

/// The time that every process has taken so far.
pub(crate) struct Cores {
    at: Instant,
    ticks: HashMap<u32, Process>,
}

struct Process {
    ticks: f64,
    parent: u32,
    name: String,
}

impl Cores {
    pub(crate) fn now() -> Self {
        let processes = fs::read_dir("/proc").expect("a Linux").flatten();
        let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        Self {
            at: Instant::now(),
            ticks: processes
                .filter_map(|pid| Some((pid, Process::read(pid)?)))
                .collect(),
        }
    }

    /// Cores that each of [`GROUPS`] has kept busy since then.
    pub(crate) async fn since(&self, cloud: &LocalCloud) -> [f64; 4] {
        let now = Self::now();
        let functions = cloud.sandboxes().await;
        let parent = functions
            .iter()
            .find_map(|it| Some(now.ticks.get(&it.pid)?.parent));
        let parent = parent.unwrap_or_default();
        let mut cores = [0.0; 4];
        for (pid, process) in &now.ticks {
            let before = self.ticks.get(pid).map_or(0.0, |before| before.ticks);
            let group = match process {
                it if it.parent == parent && it.name.contains("redis") => 2,
                it if it.parent == parent => 0,
                _ if *pid == parent => 1,
                _ if *pid == std::process::id() => 3,
                _ => continue,
            };
            cores[group] += process.ticks - before;
        }
        let elapsed = (now.at - self.at).max(Duration::from_millis(1));
        cores.map(|ticks| ticks / TICKS / elapsed.as_secs_f64())
    }
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may have spaces.
        let (name, rest) = line.split_once('(')?.1.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<f64>().ok();
        Some(Self {
            ticks: number(11)? + number(12)?,
            parent: fields.get(1)?.parse().ok()?,
            name: name.to_owned(),
        })
    }
}
