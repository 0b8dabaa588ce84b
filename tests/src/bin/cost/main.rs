//! `make cost`: what each action uses, counted while it is performed on a local cloud, and what that costs on AWS.
//!
//! - [`observer`] counts: units of tables, records of streams, invocations and their processor time, commands and bytes of
//!   the cache, bytes of logs. [`counts`] are such numbers.
//! - [`actions`] performs what people do, and [`memory`] asks Redis for the size of what it keeps.
//! - [`prices`] is the dated price file `docs/prices.json`; [`habits`] says what people do in a month, and [`model`] makes
//!   dollars of all that, also for other ways to make timelines.
//! - [`scale`] computes the sizes for half a billion people.
//! - [`report`] prints it, and writes `COST.md` and `SCALE.md`, whose words are in `report.md` and `scale.md`.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `COST_OUT` | empty | a folder for `COST.md`, `SCALE.md` and `cost.json` |
//! | `COUNTED` | empty | a `cost.json` of an earlier run, whose counts are taken instead of counting again |

mod actions;
mod counts;
mod habits;
mod memory;
mod model;
mod observer;
mod prices;
mod report;
mod scale;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use tokio::runtime::Builder;

use model::Measured;
use observer::Observer;
use prices::Prices;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("cost: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let counted = env::var("COUNTED").unwrap_or_default();
    let measured = if counted.is_empty() {
        let runtime = Builder::new_multi_thread().enable_all().build();
        runtime.map_err(|e| e.to_string())?.block_on(count())
    } else {
        let text = fs::read_to_string(&counted).map_err(|e| format!("COUNTED={counted}: {e}"))?;
        Measured::from_json(&text).map_err(|e| format!("COUNTED={counted}: {e}"))?
    };
    let prices = Prices::read();
    let tables = report::tables(&measured, &prices);
    for (_, table) in &tables {
        println!("\n{table}");
    }
    let out = env::var("COST_OUT").unwrap_or_default();
    if out.is_empty() {
        return Ok(());
    }
    let counts = ("cost.json", format!("{:#}\n", measured.json()));
    for (name, text) in report::documents(&tables).into_iter().chain([counts]) {
        let path = Path::new(&out).join(name);
        fs::write(&path, text).map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
        println!("written: {}", path.display());
    }
    Ok(())
}

/// Performs everything on a local cloud of its own.
async fn count() -> Measured {
    let parameters = [
        ("CELEBRITY_THRESHOLD", actions::CELEBRITY_THRESHOLD),
        ("TIER_DWELL_SECONDS", "0"),
        // A stream that is quicker than Lambda's brings a tweet that its POST is still delivering, and it is delivered twice.
        ("ROOST_LAMBDA_POLLING", "true"),
    ];
    let mut observer = Observer::start(&parameters).await;
    let actions = actions::measure(&mut observer).await;
    let memory = memory::measure(&observer.cache, &actions.readers).await;
    let actions = actions.counts.into_iter();
    Measured {
        actions: actions
            .map(|(name, counts)| (name.to_owned(), counts))
            .collect::<BTreeMap<_, _>>(),
        memory_mb: observer.memory_mb.clone(),
        memory,
    }
}

impl Measured {
    fn json(&self) -> serde_json::Value {
        let actions: BTreeMap<_, _> = self
            .actions
            .iter()
            .map(|(name, counts)| (name, counts.json()))
            .collect();
        json!({
            "actions": actions,
            "memory_mb_of_functions": self.memory_mb,
            "cache": self.memory.json(),
        })
    }
}
