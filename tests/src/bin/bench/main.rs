//! `make bench`: what Roost takes, beside what the machine allows, measured in the same run.
//!
//! These machines are shared and noisy, so no figure stands alone. Each is measured many times, in turn with its limit:
//! what raw Redis does with the same bytes, or the same work without the part in question. What counts is the ratio, as
//! the median of all pairs, with its spread.
//!
//! - [`push`]: deliveries to lists in Redis, against raw pipelines; a single server and a cluster.
//! - [`post`]: what a POST pays for delivering a small author's tweet.
//! - [`fan_out`]: deliveries with followers read from the tables, with and without asking who is connected.
//! - [`reach`]: a tweet to all of up to a million followers through the local cloud, and a small author beside it.
//! - [`follows`]: how fast people are followed, and how fast that is counted.
//! - [`flips`]: an author with many followers becomes a celebrity, and normal again.
//! - [`page`]: a warm home page against a round trip to Redis; its round trips, bytes and kinds. With [`crowd`]: many readers
//!   of the same celebrities.
//! - [`burst`]: the page of somebody whose list a burst has filled.
//! - [`start`]: time, memory and size of the functions at start, against an empty Lambda.
//! - [`memory`]: what Redis holds for an entry, a reader, a celebrity and a tweet.
//! - [`instead`]: sorted sets in Python on the same Redis, and Roost with push alone or pull alone.
//! - [`mix`]: reads and posts of many people through HTTP, at a rate that is raised until answers come late.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `ONLY` | everything | names of the parts to measure, with commas between them |
//! | `REACH` | 1000000 | followers of the largest author of [`reach`], and at most so many of [`flips`] |
//! | `BENCH_OUT` | empty | a folder for `BENCHMARKS.md`, its pictures and `bench.json`; only if everything is measured |
//! | `GRAPH` | a graph that is made up | an edge list for `mix`: two names a line, who follow each other |
//! | `BENCH_PYTHON` | `.venv/instead/bin/python` | a Python with redis-py, for `instead` |

mod burst;
mod cores;
mod crowd;
mod fan_out;
mod flips;
mod follows;
mod graph;
mod instead;
mod memory;
mod mix;
mod page;
mod plots;
mod post;
mod push;
mod raw;
mod reach;
mod replay;
mod report;
mod servers;
mod stack;
mod start;

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use report::{Row, json, markdown, table};
use tokio::runtime::{Builder, Runtime};

/// What measures one part.
type Measure = fn() -> Vec<Row>;

/// The parts by name, in the order in which they are measured.
const PARTS: [(&str, Measure); 12] = [
    ("push", push::measure),
    ("fanout", fan_out::measure),
    ("post", post::measure),
    ("page", page::measure),
    ("burst", burst::measure),
    ("start", start::measure),
    ("memory", memory::measure),
    ("instead", instead::measure),
    ("mix", mix::measure),
    ("reach", reach::measure),
    ("follows", follows::measure),
    ("flips", flips::measure),
];

/// What a function runs on: one thread.
fn one_thread() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

fn main() -> ExitCode {
    let only = env::var("ONLY").unwrap_or_default();
    let wanted: Vec<&str> = only.split(',').filter(|name| !name.is_empty()).collect();
    let known = PARTS.map(|(name, _)| name);
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) {
        eprintln!(
            "there is no part {unknown}: ONLY takes {}",
            known.join(", ")
        );
        return ExitCode::FAILURE;
    }
    let out = env::var("BENCH_OUT").unwrap_or_default();
    if let Err(problem) = check(&out) {
        eprintln!("{problem}");
        return ExitCode::FAILURE;
    }
    let mut rows = Vec::new();
    for (name, measure) in PARTS {
        if wanted.is_empty() || wanted.contains(&name) {
            rows.extend(measure());
        }
    }
    println!("\n{}", table(&rows));
    if out.is_empty() || !wanted.is_empty() {
        return ExitCode::SUCCESS;
    }
    match write(&rows, Path::new(&out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the figures cannot be written to {out}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What would otherwise come to light after many minutes.
fn check(out: &str) -> Result<(), String> {
    if !out.is_empty() && !Path::new(out).is_dir() {
        return Err(format!("BENCH_OUT={out} is not a folder"));
    }
    graph::Graph::from_env().map(drop)
}

/// Everything that was measured, as a page with pictures, and for machines.
fn write(rows: &[Row], folder: &Path) -> io::Result<()> {
    let goals = Some(plots::goals(rows));
    let caps = plots::lines(
        rows,
        "memory",
        "Bytes of a list in Redis",
        "entries that it keeps",
    );
    let mix = plots::lines(
        rows,
        "mix",
        "The mix through HTTP: latency",
        "requests a second",
    );
    let pictures = [
        ("bench-goals.svg", "Figures against their goals", goals),
        ("bench-mix.svg", "Latency of the mix by its rate", mix),
        ("bench-caps.svg", "Bytes of a list by its cap", caps),
    ];
    let mut shown = Vec::new();
    for (file, title, picture) in pictures {
        if let Some(picture) = picture {
            fs::write(folder.join(file), picture)?;
            shown.push((file, title));
        }
    }
    fs::write(folder.join("BENCHMARKS.md"), markdown(rows, &shown))?;
    fs::write(folder.join("bench.json"), json(rows))?;
    println!("written: {}", folder.join("BENCHMARKS.md").display());
    Ok(())
}
