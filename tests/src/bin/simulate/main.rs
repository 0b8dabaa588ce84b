//! `make simulate`: how long one tweet takes to its last follower, and in how many steps, under AWS's polling.
//!
//! A pure program: it starts nothing, and the same `SEED` gives the same answer. [`followers`] says which ids an author's
//! followers have, [`fan_out`] is the simulation, with the cutting rule of the product itself (`shared::domain::range`),
//! and [`settings`] are the variables that it takes.
//!
//! What it leaves out: cold starts, other tweets at the same time, failures and retries, and Lambda's limit on how fast
//! it adds executions (1,000 in ten seconds for each function).

mod fan_out;
mod followers;
mod settings;

use roost_tests::with_commas;
use std::process::ExitCode;

use fan_out::{Outcome, Transport, simulate};
use followers::{Followers, Spread};
use settings::Settings;

fn main() -> ExitCode {
    let settings = match Settings::from_env() {
        Ok(settings) => settings,
        Err(problem) => {
            eprintln!("simulate: {problem}");
            return ExitCode::FAILURE;
        }
    };
    println!("{settings}\n");
    println!(
        "| followers | ids | hand-overs by | last delivery, median | slowest run | hops | invocations |"
    );
    println!("|---|---|---|---|---|---|---|");
    for count in &settings.followers {
        for spread in Spread::ALL {
            for transport in Transport::ALL {
                println!("{}", row(&settings, *count, spread, transport));
            }
        }
    }
    ExitCode::SUCCESS
}

fn row(settings: &Settings, count: u64, spread: Spread, transport: Transport) -> String {
    let followers = Followers::new(count, spread);
    let seeds = settings.seed..settings.seed + settings.runs;
    let mut outcomes: Vec<Outcome> = seeds
        .map(|seed| simulate(&followers, transport, settings, seed))
        .collect();
    outcomes.sort_by(|one, other| one.last_ms.total_cmp(&other.last_ms));
    let median = &outcomes[outcomes.len() / 2];
    let slowest = &outcomes[outcomes.len() - 1];
    format!(
        "| {} | {} | {} | {} | {} | {} | {} |",
        with_commas(count),
        spread.name(),
        transport.name(),
        seconds(median.last_ms),
        seconds(slowest.last_ms),
        slowest.hops,
        with_commas(median.invocations),
    )
}

fn seconds(ms: f64) -> String {
    match ms {
        ms if ms < 10_000.0 => format!("{:.2} s", ms / 1e3),
        ms => format!("{:.0} s", ms / 1e3),
    }
}
