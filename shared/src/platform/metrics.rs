//! Metrics in CloudWatch's embedded format: a line on standard output that becomes numbers.
//!
//! What one invocation counts comes out as one line when it ends ([`flush`]); `runtime` calls that.
//! A sandbox has one invocation at a time, so one place for all is enough.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use chrono::{DateTime, SecondsFormat};
use lambda_runtime::tracing::subscriber::filter::LevelFilter;
use serde_json::{Map, Value, json};

use super::{now_millis, telemetry};

/// Says whose numbers these are: two deployments in one region must not add to the same ones.
static NAMESPACE: OnceLock<String> = OnceLock::new();

/// Where nothing is deployed.
const NO_DEPLOYMENT: &str = "Roost";

/// The format has at most this many values for one metric in one line.
const MOST_VALUES: usize = 100;

/// Something that is counted. An invocation reports the sum.
#[derive(Clone, Copy, Debug)]
pub struct Count(&'static str);

/// A duration, in milliseconds. An invocation reports every value.
#[derive(Clone, Copy, Debug)]
pub struct Milliseconds(&'static str);

macro_rules! metrics {
    ($($(#[$comment:meta])* $constant:ident: $kind:ident = $name:literal;)*) => {
        $($(#[$comment])* pub const $constant: $kind = $kind($name);)*

        /// All names, for tests of the dashboard and the alarms.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

metrics! {
    /// Pages of home timelines that were asked for.
    TIMELINE_READS: Count = "TimelineReads";
    /// What such a page took.
    TIMELINE_READ_LATENCY: Milliseconds = "TimelineReadLatency";
    /// Those of them that were to have the best first.
    RANKED_READS: Count = "RankedReads";
    /// Tweets that were scored for them.
    RANKED_CANDIDATES: Count = "RankedCandidates";
    /// Readers whose affinities were not cached.
    AFFINITY_MISSES: Count = "AffinityMisses";
    /// Tweets that were shown because their reader may have missed them.
    MISSED_POSTS: Count = "MissedPosts";
    /// Tweets that were shown because of what followed people did with them.
    ACTIVITY_ITEMS: Count = "ActivityItems";
    /// Lists of home timelines that were looked for in Redis and found.
    CACHE_HITS: Count = "CacheHits";
    /// Those that were not there, or still being rebuilt, or could not be looked for.
    CACHE_MISSES: Count = "CacheMisses";
    /// Feeds of celebrities that were read because a sandbox did not remember them.
    CELEBRITY_PULLS: Count = "CelebrityPulls";
    /// Tweets pushed to lists.
    DELIVERIES: Count = "Deliveries";
    /// How old a tweet was when a page of its fan-out was done. The largest is from the post to the last delivery.
    FAN_OUT_LAG: Milliseconds = "FanOutLag";
    /// Connected readers for whom something may be new.
    LIVE_NOTICES: Count = "LiveNotices";
    /// Messages that went out to connected clients.
    LIVE_MESSAGES: Count = "LiveMessages";
    /// How old the newest tweet of such a message was.
    LIVE_LAG: Milliseconds = "LiveLag";
    /// Connections that had died without a word.
    LIVE_DEAD: Count = "LiveDead";
    /// How often it was looked up who is connected, because Redis did not know.
    LIVE_RESTORES: Count = "LiveRestores";
    /// Authors who became celebrities, or ceased to be.
    TIER_FLIPS: Count = "TierFlips";
    /// Lists that were missing and have been rebuilt.
    REBUILDS: Count = "Rebuilds";
    /// Of these, those that were made before their readers came.
    TIMELINES_WARMED: Count = "TimelinesWarmed";
    /// Of those, the ones that were then read.
    WARMED_TIMELINES_READ: Count = "WarmedTimelinesRead";
    /// Lists that could not be made before their readers came.
    WARMING_FAILURES: Count = "WarmingFailures";
    /// Counts that differed from the edges and were put right.
    COUNT_DRIFTS_REPAIRED: Count = "CountDriftsRepaired";
    /// Rows of users that were left out because they cannot be read.
    UNREADABLE_ROWS: Count = "UnreadableRows";
    /// Pages that were compared with the tables.
    AUDITED_PAGES: Count = "AuditedPages";
    /// Of these, those that were not what they should be.
    AUDIT_DIFFERENCES: Count = "AuditDifferences";
    /// Servers of the cache that lost writes, and were made to forget what they held.
    CACHE_LOSSES: Count = "CacheLosses";
    /// Pages that said that something may be missing.
    DEGRADED_PAGES: Count = "DegradedPages";
    /// Requests refused because their sender made too many.
    RATE_LIMITED: Count = "RateLimited";
}

static PENDING: Mutex<Pending> = Mutex::new(Pending::new());

impl Count {
    pub fn add(self, number: usize) {
        let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
        *pending.counts.entry(self.0).or_default() += number as u64;
    }
}

impl Milliseconds {
    pub fn record(self, milliseconds: u64) {
        let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
        let values = pending.values.entry(self.0).or_default();
        values.push(milliseconds);
        if values.len() == MOST_VALUES {
            pending.flush();
        }
    }
}

/// Call once, before anything is counted.
pub(super) fn init(namespace: &str) {
    // The first call decides.
    let _ = NAMESPACE.set(namespace.to_owned());
}

/// Reports what the invocation has counted, if anything.
pub fn flush() {
    PENDING
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .flush();
}

#[derive(Default)]
struct Pending {
    counts: BTreeMap<&'static str, u64>,
    values: BTreeMap<&'static str, Vec<u64>>,
}

impl Pending {
    const fn new() -> Self {
        Self {
            counts: BTreeMap::new(),
            values: BTreeMap::new(),
        }
    }

    fn flush(&mut self) {
        let namespace = NAMESPACE.get().map_or(NO_DEPLOYMENT, String::as_str);
        let pending = std::mem::take(self);
        if let Some(line) = pending.line(namespace, telemetry::level(), now_millis()) {
            println!("{line}");
        }
    }

    fn line(self, namespace: &str, level: LevelFilter, now_millis: u64) -> Option<Value> {
        if self.counts.is_empty() && self.values.is_empty() {
            return None;
        }
        let define = |unit: &'static str| move |name| json!({ "Name": name, "Unit": unit });
        let counts = self.counts.keys().map(define("Count"));
        let definitions: Vec<Value> = counts
            .chain(self.values.keys().map(define("Milliseconds")))
            .collect();
        let directive =
            json!([{ "Namespace": namespace, "Dimensions": [[]], "Metrics": definitions }]);
        let time = i64::try_from(now_millis)
            .ok()
            .and_then(DateTime::from_timestamp_millis);
        let mut line = Map::from_iter([
            (
                "_aws".to_owned(),
                json!({ "Timestamp": now_millis, "CloudWatchMetrics": directive }),
            ),
            // Lambda takes a line without level and time for INFO, and drops it if it keeps only WARN or ERROR.
            ("level".to_owned(), json!(level.to_string().to_uppercase())),
            (
                "timestamp".to_owned(),
                json!(
                    time.unwrap_or_default()
                        .to_rfc3339_opts(SecondsFormat::Millis, true)
                ),
            ),
        ]);
        let counts = (self.counts.into_iter()).map(|(name, sum)| (name.to_owned(), json!(sum)));
        line.extend(counts);
        let values = (self.values.into_iter()).map(|(name, all)| (name.to_owned(), json!(all)));
        line.extend(values);
        Some(Value::Object(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invocation_that_counted_something_says_so_in_one_line() {
        let pending = Pending {
            counts: BTreeMap::from([("Deliveries", 7)]),
            values: BTreeMap::from([("FanOutLag", vec![12, 40])]),
        };
        let line = pending
            .line("Roost/here", LevelFilter::WARN, 1_700_000_000_000)
            .expect("something to say");
        assert_eq!(
            line,
            json!({
                "_aws": {
                    "Timestamp": 1_700_000_000_000_u64,
                    "CloudWatchMetrics": [{
                        "Namespace": "Roost/here",
                        "Dimensions": [[]],
                        "Metrics": [
                            { "Name": "Deliveries", "Unit": "Count" },
                            { "Name": "FanOutLag", "Unit": "Milliseconds" },
                        ],
                    }],
                },
                "level": "WARN",
                "timestamp": "2023-11-14T22:13:20.000Z",
                "Deliveries": 7,
                "FanOutLag": [12, 40],
            })
        );
        assert!(!line.to_string().contains('\n'));
        assert_eq!(Pending::new().line("Roost", LevelFilter::INFO, 0), None);
    }
}
