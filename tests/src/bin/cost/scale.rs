//! The sizes of docs/SCALE.md: half a billion people, out of what one action uses.

use crate::habits::{CELEBRITY_PART, FOLLOWERS, POSTS, REPOSTS, pages};
use crate::model::{Measured, PEAK};
use crate::prices::{Prices, cache_units, gb_seconds, total};
use crate::report::{commas, dollars, large, short, table};

pub(crate) const PEOPLE: f64 = 5e8;
const READS_A_DAY: f64 = 1e10;
/// How steeply the number of authors falls with their followers: the part with more than x is x to the power of minus this.
const STEEPNESS: f64 = 1.2;
/// The limits of one serverless cache: bytes, and processing units a second.
const CACHE_BYTES: f64 = 5e12;
const CACHE_UNITS: f64 = 1.5e7;
/// Records a second that a shard takes, and lanes that it may have.
const SHARD_RECORDS: f64 = 1_000.0;
const LANES: f64 = 10.0;

/// The part of all authors with more than so many followers, and the part of all edges that lead to them. The fewest
/// followers that anybody has follow from the average.
pub(crate) fn above(followers: f64) -> (f64, f64) {
    let fewest = FOLLOWERS * (STEEPNESS - 1.0) / STEEPNESS;
    let ratio = fewest / followers;
    (ratio.powf(STEEPNESS), ratio.powf(STEEPNESS - 1.0))
}

fn a_second(a_day: f64) -> f64 {
    a_day / 86_400.0
}

/// Milliseconds of one execution for one of these actions, as they are billed.
fn milliseconds(measured: &Measured, action: &str, function: &str) -> f64 {
    let counts = measured.action(action);
    let memory = measured.memory_mb.get(function).copied().unwrap_or(512.0);
    let gb = memory / 1_024.0;
    gb_seconds(&counts.of_function(function), &measured.memory_mb) / gb * 1e3
        / counts.one("invocations", function).max(0.01)
}

pub(crate) fn sizes(measured: &Measured, prices: &Prices) -> String {
    let mut rows = Vec::new();
    let mut add = |what: &str, value: String, from: &str| {
        rows.push(vec![what.to_owned(), value, from.to_owned()]);
    };
    let readers = READS_A_DAY / pages();
    add("edges", large(PEOPLE * FOLLOWERS), "500 M people times 200");
    add(
        "pages a second: average, peak",
        format!(
            "{}, {}",
            large(a_second(READS_A_DAY)),
            large(a_second(READS_A_DAY) * PEAK)
        ),
        "10 billion a day; the peak is three times the average (assumed)",
    );
    add(
        "people who read on a day",
        large(readers),
        "10 billion pages, and the pages of one reader in the table of habits: so everybody reads every day",
    );
    let tweets = readers * (POSTS + REPOSTS);
    add(
        "tweets and reposts a second: average, peak",
        format!(
            "{}, {}",
            large(a_second(tweets)),
            large(a_second(tweets) * PEAK)
        ),
        "habits",
    );
    let deliveries = tweets * FOLLOWERS * (1.0 - CELEBRITY_PART);
    add(
        "deliveries a second: average, peak",
        format!(
            "{}, {}",
            large(a_second(deliveries)),
            large(a_second(deliveries) * PEAK)
        ),
        "200 followers each, without those of celebrities",
    );
    let lists = PEOPLE * measured.memory.list();
    let others = PEOPLE * (measured.memory.reader + measured.memory.profile)
        + tweets * 2.0 * measured.memory.tweet;
    add(
        "cache, lists",
        format!("{} TB", short(lists / 1e12)),
        "bytes of a list in COST.md",
    );
    add(
        "cache, everything else",
        format!("{} TB", short(others / 1e12)),
        "bytes of readers, profiles, and tweets of two days in COST.md",
    );
    let day = measured.day();
    let units = a_second(cache_units(&day) * readers) * PEAK;
    add(
        "cache units a second, peak",
        large(units),
        "counts and habits in COST.md",
    );
    let caches = ((lists + others) / CACHE_BYTES)
        .max(units / CACHE_UNITS)
        .ceil();
    add(
        "serverless caches that this fills",
        short(caches),
        "a cache has 5 TB and 15 M units a second at the most",
    );
    let busy = a_second(gb_seconds(&day, &measured.memory_mb) * readers) * 2.0 * PEAK;
    add(
        "Lambda executions at once, peak",
        large(busy),
        "GB-seconds of all actions, as executions of 512 MB",
    );
    let page_ms = milliseconds(measured, "page", "home-timeline");
    let waits = measured.action("page").all("cache_round_trips") * 0.7;
    add(
        "a page, computed",
        format!("{} ms", short(page_ms + waits)),
        "processor time at 512 MB, requests to tables, and round trips to the cache, as in COST.md",
    );
    let record_ms = milliseconds(measured, "post to 100 followers", "fan-out-tweets");
    let lanes = a_second(tweets) * PEAK * record_ms / 1e3;
    let by_rate = a_second(tweets) * PEAK / SHARD_RECORDS;
    add(
        "shards of `tweet-created`",
        commas(by_rate.max(lanes / LANES).ceil()),
        &format!(
            "{} for 1,000 records a second each; {} because a tweet takes {} ms of a lane, and a shard has ten lanes",
            commas(by_rate.ceil()),
            commas((lanes / LANES).ceil()),
            short(record_ms)
        ),
    );
    for (kind, name) in [("reads", "read"), ("writes", "write")] {
        let mut tables: Vec<_> = day.each(kind).collect();
        tables.sort_by(|one, other| other.1.total_cmp(&one.1));
        let units = |number: f64| large(a_second(number * readers) * PEAK);
        let largest: Vec<String> = tables
            .iter()
            .take(4)
            .map(|(table, number)| format!("{table} {}", units(*number)))
            .collect();
        add(
            &format!("{name} units a second, peak"),
            format!("{} ({})", units(day.all(kind)), largest.join(", ")),
            "counts and habits in COST.md",
        );
    }
    let mut month = prices.bill(&day.times(readers * 365.0 / 12.0), &measured.memory_mb);
    month.insert(
        "cache, data",
        (lists + others) / 1e9 * prices.cache_gb_month(),
    );
    let mut parts: Vec<_> = month.iter().collect();
    parts.sort_by(|one, other| other.1.total_cmp(one.1));
    let parts: Vec<String> = parts
        .iter()
        .take(5)
        .map(|(what, usd)| format!("{what} {} M", short(**usd / 1e6)))
        .collect();
    add(
        "USD a month, list prices",
        format!("{} M ({})", short(total(&month) / 1e6), parts.join(", ")),
        "docs/prices.json; without tables' storage, streams' shards and the user pool",
    );
    add(
        "USD a month for each person",
        dollars(total(&month) / PEOPLE),
        "the same",
    );
    table(&["what", "size", "where it comes from"], rows)
}

pub(crate) fn thresholds() -> String {
    let readers = READS_A_DAY / pages();
    let deliveries = readers * (POSTS + REPOSTS) * FOLLOWERS;
    let rows = [1e5, 3e5, 1e6, 3e6, 1e7].map(|threshold| {
        let (authors, edges) = above(threshold);
        vec![
            commas(threshold),
            large(authors * PEOPLE),
            format!("{} %", short(edges * 100.0)),
            short(edges * FOLLOWERS),
            large(a_second(READS_A_DAY) * PEAK * edges * FOLLOWERS),
            large(a_second(deliveries * (1.0 - edges)) * PEAK),
        ]
    });
    let head = [
        "threshold",
        "authors above it",
        "edges that lead to them",
        "of 200 followed people, pulled",
        "feeds read a second, peak",
        "deliveries a second, peak",
    ];
    table(&head, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_has_the_average_that_everybody_follows() {
        // The sum over all of the part above x is the average.
        let fewest = FOLLOWERS * (STEEPNESS - 1.0) / STEEPNESS;
        let (authors, edges) = above(fewest);
        assert!((authors - 1.0).abs() < 1e-9 && (edges - 1.0).abs() < 1e-9);
        let (few, many) = (above(1e6), above(1e5));
        assert!(few.0 < many.0 && few.1 < many.1);
        // Nobody above 100 K can have more edges than there are.
        assert!(many.0 * 1e5 < FOLLOWERS);
    }
}
