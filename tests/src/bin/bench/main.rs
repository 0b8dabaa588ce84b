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
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `ONLY` | everything | names of the parts to measure, with commas between them |
//! | `REACH` | 1000000 | followers of the largest author of [`reach`] |
//! | `BENCH_OUT` | empty | a folder for `BENCHMARKS.md` and `bench.json`; only if everything is measured |

mod fan_out;
mod post;
mod push;
mod raw;
mod reach;
mod report;
mod servers;

use std::env;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use report::{Row, json, markdown, table};

/// What measures one part.
type Measure = fn() -> Vec<Row>;

/// The parts by name, in the order in which they are measured.
const PARTS: [(&str, Measure); 4] = [
    ("push", push::measure),
    ("fanout", fan_out::measure),
    ("post", post::measure),
    ("reach", reach::measure),
];

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
    let mut rows = Vec::new();
    for (name, measure) in PARTS {
        if wanted.is_empty() || wanted.contains(&name) {
            rows.extend(measure());
        }
    }
    println!("\n{}", table(&rows));
    let out = env::var("BENCH_OUT").unwrap_or_default();
    if out.is_empty() || !wanted.is_empty() {
        return ExitCode::SUCCESS;
    }
    let files = [
        ("BENCHMARKS.md", markdown(&rows)),
        ("bench.json", json(&rows)),
    ];
    for (name, text) in files {
        let path = Path::new(&out).join(name);
        if let Err(error) = fs::write(&path, text) {
            eprintln!("{} cannot be written: {error}", path.display());
            return ExitCode::FAILURE;
        }
        println!("written: {}", path.display());
    }
    ExitCode::SUCCESS
}
