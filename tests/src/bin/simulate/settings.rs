//! The variables of `make simulate`.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `FOLLOWERS` | 10 thousand to 100 million | how many followers the author has, with commas between several |
//! | `PAGE_SIZE` | 5000 | followers that one invocation serves (`FanOutPageSize`) |
//! | `FOLLOWER_MICROS` | 8.8 | time that one follower takes, in microseconds, as `make bench` measures it |
//! | `INVOCATION_MS` | 25 | time that one invocation takes beside that |
//! | `SHARDS` | 1 | shards of each Kinesis stream (`StreamShards`) |
//! | `TABLE_SHARDS` | 4 | shards of the stream of a table with hand-overs: as many as the table has partitions |
//! | `PARALLEL_BATCHES` | 2 | batches of one shard at the same time (`ParallelBatches`), up to 10 |
//! | `CONCURRENCY` | 1000 | executions of the function at the same time (`ConsumerConcurrency`, or the account's limit) |
//! | `CACHE_RATE` | 0 | deliveries a second that the cache takes; 0 for no limit |
//! | `KINESIS_POLL_MS`, `TABLE_POLL_MS` | 1000, 250 | how often a shard is asked for records; 0 for at once, as the local cloud does |
//! | `SEED`, `RUNS` | 1, 25 | the first seed, and how many seeds are tried, one after the other |

use std::env;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) followers: Vec<u64>,
    pub(crate) page_size: u64,
    pub(crate) follower_micros: f64,
    pub(crate) invocation_ms: f64,
    pub(crate) kinesis_shards: usize,
    pub(crate) table_shards: usize,
    pub(crate) parallel_batches: usize,
    pub(crate) concurrency: usize,
    /// Deliveries a second, if the cache has a limit.
    pub(crate) cache_rate: Option<f64>,
    pub(crate) kinesis_poll_ms: f64,
    pub(crate) table_poll_ms: f64,
    pub(crate) seed: u64,
    pub(crate) runs: u64,
}

impl Settings {
    pub(crate) fn from_env() -> Result<Self, String> {
        Self::from(|name| env::var(name).ok())
    }

    pub(crate) fn from(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let given = |name: &str, default: &str| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.unwrap_or_else(|| default.to_owned())
        };
        let numbers = |name, default, least| -> Result<Vec<u64>, String> {
            let text: String = given(name, default);
            text.split(',')
                .map(|one| number(name, one, least, 1e12))
                .collect()
        };
        let whole = |name, default, least, most| -> Result<usize, String> {
            number(name, &given(name, default), least, most)
        };
        let real = |name, default, least| -> Result<f64, String> {
            number(name, &given(name, default), least, 1e9)
        };
        let cache_rate = real("CACHE_RATE", "0", 0.0)?;
        Ok(Self {
            followers: numbers("FOLLOWERS", "10000,100000,1000000,10000000,100000000", 1.0)?,
            page_size: number("PAGE_SIZE", &given("PAGE_SIZE", "5000"), 1.0, 1e9)?,
            follower_micros: real("FOLLOWER_MICROS", "8.8", 0.0)?,
            invocation_ms: real("INVOCATION_MS", "25", 0.0)?,
            kinesis_shards: whole("SHARDS", "1", 1.0, 1e5)?,
            table_shards: whole("TABLE_SHARDS", "4", 1.0, 1e5)?,
            parallel_batches: whole("PARALLEL_BATCHES", "2", 1.0, 10.0)?,
            concurrency: whole("CONCURRENCY", "1000", 1.0, 1e6)?,
            cache_rate: (cache_rate > 0.0).then_some(cache_rate),
            kinesis_poll_ms: real("KINESIS_POLL_MS", "1000", 0.0)?,
            table_poll_ms: real("TABLE_POLL_MS", "250", 0.0)?,
            seed: number("SEED", &given("SEED", "1"), 0.0, 1e12)?,
            runs: number("RUNS", &given("RUNS", "25"), 1.0, 1e6)?,
        })
    }
}

fn number<T: FromStr>(name: &str, text: &str, least: f64, most: f64) -> Result<T, String> {
    let text = text.trim();
    let in_bounds = text
        .parse::<f64>()
        .is_ok_and(|number| (least..=most).contains(&number));
    let parsed = text.parse().ok().filter(|_| in_bounds);
    parsed.ok_or_else(|| format!("{name} must be a number from {least} to {most}, not {text:?}"))
}

impl Display for Settings {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let cache = match self.cache_rate {
            Some(rate) => format!("{rate} deliveries a second"),
            None => "any number of deliveries".to_owned(),
        };
        write!(
            formatter,
            "Pages of {} followers, {} µs a follower and {} ms an invocation; {} Kinesis shards asked every {} ms,\n\
             {} table shards asked every {} ms, {} batches of a shard and {} executions at once; the cache takes {cache}.\n\
             {} runs, seeds from {} on.",
            self.page_size,
            self.follower_micros,
            self.invocation_ms,
            self.kinesis_shards,
            self.kinesis_poll_ms,
            self.table_shards,
            self.table_poll_ms,
            self.parallel_batches,
            self.concurrency,
            self.runs,
            self.seed,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Settings, String> {
        Settings::from(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn an_empty_variable_is_its_default() {
        assert_eq!(with("SHARDS", ""), with("SOMETHING_ELSE", "7"));
    }

    #[test]
    fn several_numbers_of_followers_can_be_given() {
        let settings = with("FOLLOWERS", "10, 2000").expect("two numbers");
        assert_eq!(settings.followers, [10, 2_000]);
    }

    #[test]
    fn a_wrong_value_is_told_with_its_name_and_what_is_allowed() {
        for (name, value) in [
            ("PARALLEL_BATCHES", "11"),
            ("SHARDS", "0"),
            ("SHARDS", "1.5"),
            ("FOLLOWERS", "10,many"),
            ("FOLLOWER_MICROS", "-1"),
            ("CACHE_RATE", "NaN"),
        ] {
            let problem = with(name, value).expect_err(value);
            assert!(problem.starts_with(name), "{problem}");
            assert!(problem.contains("from"), "{problem}");
        }
    }
}
