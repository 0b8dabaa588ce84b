//! The dated price file, and what counts cost by it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::counts::Counts;

/// Lambda gives a function one whole processor at so many megabytes, and less in proportion.
const WHOLE_PROCESSOR_MB: f64 = 1_769.0;
/// What a request takes longer on AWS than on one machine, in milliseconds. Assumed, see the text of COST.md.
const TABLE_MS: f64 = 5.0;
const STREAM_MS: f64 = 15.0;
const CACHE_MS: f64 = 0.7;
/// Time is billed in whole milliseconds, which is half of one more on average.
const ROUNDING_MS: f64 = 0.5;
/// The memory with which a wait for the cache is billed: that of most functions that use it.
const CACHE_WAIT_MB: f64 = 512.0;

#[derive(Deserialize)]
pub(crate) struct Prices {
    pub(crate) date: String,
    pub(crate) region: String,
    prices: BTreeMap<String, Price>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Price {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) usd: f64,
}

/// Dollars by service, in the order in which they are shown.
pub(crate) type Bill = BTreeMap<&'static str, f64>;

impl Prices {
    pub(crate) fn read() -> Self {
        let file = include_str!("../../../../docs/prices.json");
        serde_json::from_str(file).expect("docs/prices.json is a price file")
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = &Price> {
        self.prices.values()
    }

    /// Dollars for one unit, as the file names it.
    pub(crate) fn of(&self, name: &str) -> f64 {
        let price = self.prices.get(name);
        price
            .unwrap_or_else(|| panic!("docs/prices.json has no price {name}"))
            .usd
    }

    fn million(&self, name: &str, count: f64) -> f64 {
        self.of(name) * count / 1e6
    }

    /// What these counts cost as they happen. What is kept costs besides, by the month.
    pub(crate) fn bill(&self, counts: &Counts, memory_mb: &BTreeMap<String, f64>) -> Bill {
        let gb_seconds = gb_seconds(counts, memory_mb);
        let gigabyte = 1e9;
        Bill::from([
            (
                "API Gateway",
                self.million("api_request", counts.all("requests"))
                    + self.million("live_message", counts.all("live_messages")),
            ),
            (
                "Lambda",
                self.million("invocation", counts.all("invocations"))
                    + self.million("gb_second", gb_seconds),
            ),
            (
                "DynamoDB",
                self.million("read_unit", counts.all("reads"))
                    + self.million("write_unit", counts.all("writes")),
            ),
            ("Kinesis", self.million("put_unit", counts.all("put_units"))),
            (
                "cache, commands",
                self.million("cache_unit", cache_units(counts)),
            ),
            (
                "logs",
                self.of("log_gb") * counts.all("log_bytes") / gigabyte,
            ),
            (
                "data to the internet",
                self.of("internet_gb") * counts.all("answer_bytes") / gigabyte,
            ),
        ])
    }

    /// A GB in the cache for a month.
    pub(crate) fn cache_gb_month(&self) -> f64 {
        self.of("cache_gb_hour") * HOURS
    }
}

/// In a month.
pub(crate) const HOURS: f64 = 730.0;

/// A unit for a command, and one for each KB. Commands of up to one KB cost no more than one, so this is too much rather
/// than too little.
pub(crate) fn cache_units(counts: &Counts) -> f64 {
    let bytes = counts.all("cache_bytes_in") + counts.all("cache_bytes_out");
    counts.all("cache_commands") + bytes / 1_024.0
}

/// Measured processor time, stretched to the part of a processor that the function has, and the waits for stores, one
/// after the other.
pub(crate) fn gb_seconds(counts: &Counts, memory_mb: &BTreeMap<String, f64>) -> f64 {
    let of = |function: &str| memory_mb.get(function).copied().unwrap_or(256.0);
    let computing = counts.each("cpu_ms").map(|(function, ms)| {
        let memory = of(function);
        ms * (WHOLE_PROCESSOR_MB / memory).max(1.0) * memory
    });
    let waiting = |kind, each_ms: f64| -> f64 {
        let of_kind = counts.each(kind);
        of_kind
            .map(|(function, count)| count * each_ms * of(function))
            .sum()
    };
    let mb_ms = computing.sum::<f64>()
        + waiting("table_requests", TABLE_MS)
        + waiting("stream_requests", STREAM_MS)
        + waiting("invocations", ROUNDING_MS)
        + counts.all("cache_round_trips") * CACHE_MS * CACHE_WAIT_MB;
    mb_ms / 1_024.0 / 1_000.0
}

pub(crate) fn total(bill: &Bill) -> f64 {
    bill.values().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_price_that_is_used_is_in_the_file() {
        let prices = Prices::read();
        assert_eq!(prices.date.len(), 10);
        let mut counts = Counts::default();
        counts.add("requests", 1e6);
        counts.add("writes:tweets", 2e6);
        let bill = prices.bill(&counts, &BTreeMap::new());
        assert_eq!(bill["API Gateway"], prices.of("api_request"));
        assert_eq!(bill["DynamoDB"], 2.0 * prices.of("write_unit"));
        assert_eq!(total(&bill), bill["API Gateway"] + bill["DynamoDB"]);
    }

    #[test]
    fn a_function_with_less_memory_computes_longer_for_the_same_price() {
        let mut counts = Counts::default();
        counts.add("cpu_ms:small", 10.0);
        let with = |memory| gb_seconds(&counts, &BTreeMap::from([("small".to_owned(), memory)]));
        assert!((with(256.0) - with(512.0)).abs() < 1e-12);
        assert!(with(3_538.0) > with(512.0));
    }
}
