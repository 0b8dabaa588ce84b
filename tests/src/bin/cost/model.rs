//! Counts times habits times prices: dollars a month, for Roost and for other ways to make timelines.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::counts::Counts;
use crate::habits::{
    CELEBRITY_PART, CELEBRITY_TWEETS, DAILY, DAYS, EACH_DAY, FOLLOWERS, LIVE_MINUTES, MONTHLY,
    POSTS, REPOSTS, SESSIONS, goes_below, pages,
};
use crate::memory::{CAPS, Memory};
use crate::prices::{Bill, HOURS, Prices, gb_seconds};

/// Deployments whose price is told, by people who have signed up.
pub(crate) const SIZES: [f64; 3] = [1e4, 1e6, 1e8];

/// The busiest second of a day, against the average.
pub(crate) const PEAK: f64 = 3.0;
/// Records a second that a shard takes.
const SHARD_RECORDS: f64 = 1_000.0;
/// A tweet with its key, as a table keeps it with its index, and an edge in both tables with its index.
const TWEET_ROW_BYTES: f64 = 500.0;
const EDGE_ROWS_BYTES: f64 = 400.0;
const USER_ROWS_BYTES: f64 = 1_000.0;
/// Tweets are read again for so many days, and their cards cached.
const READ_DAYS: f64 = 2.0;
/// What a feed in a sorted set takes for each tweet; as many bytes as an entry of a timeline in one.
const FEED_DAYS: f64 = 30.0;

pub(crate) struct Measured {
    pub(crate) actions: BTreeMap<String, Counts>,
    pub(crate) memory_mb: BTreeMap<String, f64>,
    pub(crate) memory: Memory,
}

impl Measured {
    pub(crate) fn action(&self, name: &str) -> &Counts {
        let found = self.actions.get(name);
        found.unwrap_or_else(|| panic!("{name} was not counted"))
    }

    /// What each further follower of a post causes.
    pub(crate) fn follower(&self) -> Counts {
        let (few, many) = ("post to 100 followers", "post to 10,000 followers");
        let more = self.action(many).clone().minus(self.action(few));
        more.times(1.0 / 9_900.0)
    }

    /// What a post causes besides.
    pub(crate) fn post(&self) -> Counts {
        let few = self.action("post to 100 followers").clone();
        few.minus(&self.follower().times(100.0))
    }

    /// What one reader causes on a day on which they read.
    pub(crate) fn day(&self) -> Counts {
        let mut sum = Counts::default();
        for (name, times) in EACH_DAY {
            sum = sum.plus(&self.action(name).times(times));
        }
        let star = self.action("post of a celebrity").times(CELEBRITY_TWEETS);
        let post = self.post().times(1.0 - CELEBRITY_TWEETS).plus(&star);
        let repost = self.action("repost without followers");
        sum.plus(&post.times(POSTS))
            .plus(&repost.times(REPOSTS))
            .plus(&self.follower().times(pushed_a_day()))
    }

    /// What everybody causes in a month, and what it costs to keep things, for so many people.
    pub(crate) fn month(&self, people: f64, prices: &Prices) -> Bill {
        let days = people * DAILY * DAYS;
        let counts = self.day().times(days);
        let mut bill = prices.bill(&counts, &self.memory_mb);
        let mut add = |what: &'static str, usd: f64| *bill.entry(what).or_default() += usd;
        let live = people * DAILY * DAYS * LIVE_MINUTES / 1e6;
        add("API Gateway", prices.of("live_minute") * live);
        let gb = self.cache_gb(people).values().sum::<f64>().max(0.1);
        add("cache, data", gb * prices.cache_gb_month());
        let table_gb = table_gb(people);
        let kept = prices.of("table_gb") + prices.of("recovery_gb");
        add("DynamoDB", table_gb * kept);
        let shards = shards(&counts);
        add("Kinesis", shards * HOURS * prices.of("shard_hour"));
        add("alarms, key, watch", fixed(prices));
        bill
    }

    /// Gigabytes of the cache by what is in it.
    pub(crate) fn cache_gb(&self, people: f64) -> BTreeMap<&'static str, f64> {
        let tweets = people * DAILY * POSTS * READ_DAYS;
        BTreeMap::from([
            ("lists", people * MONTHLY * self.memory.list() / 1e9),
            (
                "other keys of readers",
                people * DAILY * self.memory.reader / 1e9,
            ),
            ("tweets", tweets * self.memory.tweet / 1e9),
            ("profiles", people * DAILY * self.memory.profile / 1e9),
        ])
    }

    /// What timelines alone cost: keeping them, writing to them and reading them, by how they are made.
    pub(crate) fn timelines(&self, people: f64, prices: &Prices) -> Vec<Way> {
        let days = people * DAILY * DAYS;
        let deliveries = days * pushed_a_day();
        let all_deliveries = days * (POSTS + REPOSTS) * FOLLOWERS;
        let page_reads = days * pages();
        let command = prices.of("cache_unit") / 1e6;
        let second = prices.of("gb_second") / 1e6;
        let follower = self.follower();
        let each = |count: f64, commands: f64| {
            let computing = gb_seconds(&follower, &self.memory_mb) * second;
            let tables = follower.all("reads") * prices.of("read_unit") / 1e6;
            count * (commands * command + computing + tables)
        };
        let kept = |lists: f64, bytes: f64| lists * bytes / 1e9 * prices.cache_gb_month();
        let list = self.memory.list();
        let set = self.memory.sorted_set();
        let entry = set / 800.0;
        // A window of a hundred entries of 16 bytes, and a page of twenty out of a sorted set.
        let window = page_reads * 2.0 * command;
        let tweets_kept = people * DAILY * (POSTS + REPOSTS) * FEED_DAYS;
        // Two hundred feeds for each page, of which the newest entries are read.
        let feeds = page_reads * FOLLOWERS * command;
        let tables = page_reads * FOLLOWERS * prices.of("read_unit") / 1e6;
        vec![
            Way::new(
                "Roost: lists of active readers, celebrities pulled",
                kept(people * MONTHLY, list),
                each(deliveries, 1.0),
                window,
            ),
            Way::new(
                "pure push: the same lists, celebrities pushed too",
                kept(people * MONTHLY, list),
                each(all_deliveries, 1.0),
                window,
            ),
            Way::new(
                "sorted sets of everybody, the classic push",
                kept(people, set),
                each(all_deliveries, 2.0),
                window,
            ),
            Way::new(
                "sorted sets of active readers only",
                kept(people * MONTHLY, set),
                each(all_deliveries, 2.0),
                window,
            ),
            Way::new(
                "pure pull from feeds in the cache",
                kept(tweets_kept, entry),
                0.0,
                feeds,
            ),
            Way::new("pure pull from the tables", 0.0, 0.0, tables),
        ]
    }

    /// Of each cap: bytes of a list, dollars a month for a million and for a hundred million active readers, the part of
    /// sessions that goes below it, and what their reads of tables cost for a million.
    pub(crate) fn caps(&self, prices: &Prices) -> Vec<[f64; 6]> {
        // A query of one unit for each followed person.
        let deep = FOLLOWERS * prices.of("read_unit") / 1e6;
        let rows = CAPS.iter().zip(self.memory.lists).map(|(cap, bytes)| {
            let million = 1e6 * bytes / 1e9 * prices.cache_gb_month();
            let below = goes_below(*cap as f64);
            // Of a million who have a list, a third reads on a day.
            let sessions = 1e6 * DAILY / MONTHLY * SESSIONS * DAYS;
            [
                *cap as f64,
                bytes,
                million,
                million * 100.0,
                below,
                sessions * below * deep,
            ]
        });
        rows.collect()
    }

    pub(crate) fn from_json(text: &str) -> Result<Self, String> {
        let read: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let numbers = |value: &Value| -> BTreeMap<String, f64> {
            let numbers = value.as_object().into_iter().flatten();
            numbers
                .filter_map(|(name, number)| Some((name.clone(), number.as_f64()?)))
                .collect()
        };
        let actions = read["actions"].as_object().ok_or("it has no actions")?;
        let cache = &read["cache"];
        let number = |name: &str| cache[name].as_f64().ok_or(format!("it has no {name}"));
        let four = |name: &str| -> Result<[f64; 4], String> {
            let values = cache[name].as_array().into_iter().flatten();
            let values: Vec<f64> = values.filter_map(Value::as_f64).collect();
            values.try_into().map_err(|_| format!("it has no {name}"))
        };
        Ok(Self {
            actions: actions
                .iter()
                .map(|(name, counts)| {
                    let mut sum = Counts::default();
                    for (name, count) in numbers(counts) {
                        sum.add(name, count);
                    }
                    (name.clone(), sum)
                })
                .collect(),
            memory_mb: numbers(&read["memory_mb_of_functions"]),
            memory: Memory {
                lists: four("list_bytes")?,
                sorted_sets: four("sorted_set_bytes")?,
                reader: number("other_bytes_of_a_reader")?,
                tweet: number("bytes_of_a_tweet")?,
                profile: number("bytes_of_a_profile")?,
                server: cache["server"].as_str().unwrap_or("Redis").to_owned(),
            },
        })
    }
}

/// A way to make timelines, and its dollars a month.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) kept: f64,
    pub(crate) written: f64,
    pub(crate) read: f64,
}

impl Way {
    fn new(name: &'static str, kept: f64, written: f64, read: f64) -> Self {
        Self {
            name,
            kept,
            written,
            read,
        }
    }

    pub(crate) fn total(&self) -> f64 {
        self.kept + self.written + self.read
    }
}

/// Deliveries that the posts and reposts of one person cause on a day.
pub(crate) fn pushed_a_day() -> f64 {
    (POSTS + REPOSTS) * FOLLOWERS * (1.0 - CELEBRITY_PART)
}

/// What tables keep after a year.
pub(crate) fn table_gb(people: f64) -> f64 {
    let tweets = people * DAILY * 365.0 * (POSTS + REPOSTS);
    let edges = people * FOLLOWERS;
    (tweets * TWEET_ROW_BYTES + edges * EDGE_ROWS_BYTES + people * USER_ROWS_BYTES) / 1e9
}

/// Shards of all streams at the busiest moment, by records; a stream has one at the least.
pub(crate) fn shards(month: &Counts) -> f64 {
    let streams = month.each("records").map(|(_, records)| {
        let second = records / (DAYS * 86_400.0) * PEAK;
        (second / SHARD_RECORDS).ceil().max(1.0)
    });
    let unused = in_template(STREAM) - month.each("records").count() as f64;
    streams.sum::<f64>() + unused.max(0.0)
}

/// A stream that is there by default: one that is not has a condition behind its type.
const STREAM: &str = "Type: AWS::Kinesis::Stream\n    Properties";

fn in_template(what: &str) -> f64 {
    let template = include_str!("../../../../template.yaml");
    template.matches(what).count() as f64
}

/// What is paid for although nobody does anything, besides streams and the cache.
pub(crate) fn fixed(prices: &Prices) -> f64 {
    idle(prices)[2..].iter().map(|(_, usd)| usd).sum()
}

/// The idle deployment, with the template's defaults.
pub(crate) fn idle(prices: &Prices) -> Vec<(&'static str, f64)> {
    let alarms = in_template("Type: AWS::CloudWatch::Alarm");
    let streams = in_template(STREAM);
    // `watch-cache` has 128 MB and runs for 58 seconds of every minute.
    let watch = 0.125 * 58.0 / 60.0 * HOURS * 3_600.0;
    vec![
        (
            "Kinesis streams of one shard",
            streams * HOURS * prices.of("shard_hour"),
        ),
        ("cache, at least 0.1 GB", 0.1 * prices.cache_gb_month()),
        ("alarms", alarms * prices.of("alarm")),
        ("key and secret", prices.of("key") + prices.of("secret")),
        (
            "watch over the cache (`CacheWatchSeconds`)",
            watch * prices.of("gb_second") / 1e6,
        ),
    ]
}
