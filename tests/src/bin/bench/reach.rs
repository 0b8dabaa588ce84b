//! One tweet on its way to all followers of its author, through the whole of a local cloud: how long the last one waits,
//! how often the work is handed over, and what it costs a small author who posts meanwhile.
//!
//! Every hand-over is a wait on AWS, because Lambda polls. So the largest author also posts in a second cloud that polls as
//! Lambda does, in turn with the first.

use std::env;
use std::time::{Duration, Instant};

use roost_tests::{Cache, LocalCloud, Tables, User, entry, keys};
use tokio::runtime::Builder;
use tokio::time::sleep;

use crate::report::{Goal, Row, Unit};

const PART: &str = "reach";
/// Followers of the other authors.
const SMALLER: [usize; 2] = [10_000, 100_000];
/// The largest author's, unless `REACH` says something else.
const LARGEST: usize = 1_000_000;
const SMALL_AUTHOR: usize = 20;
/// How often the small author posts, with nothing else to do and beside the largest.
const SMALL_TWEETS: usize = 100;
/// Tweets of the largest author in the cloud that polls.
const POLLED_TWEETS: usize = 3;
/// No tweet takes so long.
const LIMIT: Duration = Duration::from_secs(300);
/// How far ids are apart that were given one year apart.
const YEAR: u64 = (365 * 24 * 3_600_000) << 22;

/// Followers of the largest author.
pub(crate) fn largest() -> usize {
    let largest = env::var("REACH").ok().filter(|text| !text.is_empty());
    largest.map_or(LARGEST, |text| {
        text.parse().expect("REACH is a number of followers")
    })
}

pub(crate) fn measure() -> Vec<Row> {
    let largest = largest();
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(rows(largest))
}

async fn rows(largest: usize) -> Vec<Row> {
    let bench = Bench::start().await;
    let ids = spread(largest);
    bench.cache.activate(&ids).await;
    let mut rows = Vec::new();
    let mut per_follower = Vec::new();
    for size in SMALLER.into_iter().filter(|size| *size < largest) {
        let some: Vec<u64> = ids.iter().step_by(largest / size).copied().collect();
        let author = bench.author(&some).await;
        // Small ones are quick, and one figure of them alone says little.
        let tweets = (largest / size).clamp(3, 15);
        let reach = bench.median(&author, &some, tweets).await;
        rows.extend(reach.rows(some.len(), ""));
        per_follower.push((some.len(), reach.took.as_secs_f64() / some.len() as f64));
    }
    let star = bench.author(&ids).await;
    let reach = bench.median(&star, &ids, 3).await;
    rows.extend(reach.rows(largest, ""));
    if let Some((fewest, least)) = per_follower.first() {
        rows.push(Row::beside(
            PART,
            format!("{largest} followers: time per follower"),
            Unit::Time,
            reach.took.as_secs_f64() / largest as f64,
            (format!("{fewest} followers"), *least),
            Goal::AtMost(1.3),
        ));
    }
    rows.extend(bench.fairness(&star, &ids).await);
    rows.push(polling(&bench, &star, &ids).await);
    let clustered = clustered(largest);
    bench.cache.activate(&clustered).await;
    let author = bench.author(&clustered).await;
    let crowded = bench.median(&author, &clustered, 1).await;
    rows.extend(crowded.rows(largest, ", most of them of one week"));
    rows
}

/// How much longer a tweet to all of these takes if every stream is polled. Both clouds deliver in turn, because the machine
/// is not equally fast all the time.
async fn polling(woken: &Bench, star: &User, followers: &[u64]) -> Row {
    let polled = woken.polled_beside().await;
    polled.cache.activate(followers).await;
    let polled_star = polled.author(followers).await;
    let mut more = Vec::new();
    for _ in 0..=POLLED_TWEETS {
        let (_, at_once) = woken.post(star, followers.len()).await;
        let (_, later) = polled.post(&polled_star, followers.len()).await;
        more.push(later.took.as_secs_f64() - at_once.took.as_secs_f64());
    }
    // The first one starts the functions.
    let more = &mut more[1..];
    Row::figure(
        PART,
        format!("{} followers: what Lambda's polling adds", followers.len()),
        Unit::Time,
        percentile(more, 0.5),
        Goal::AtMost(3.0),
    )
}

/// Ids of people who signed up evenly over a year.
pub(crate) fn spread(count: usize) -> Vec<u64> {
    let step = YEAR / count as u64;
    (1..=count as u64).map(|n| YEAR + n * step).collect()
}

/// Ids of people of whom one in a hundred signed up at any time of the year, and all others within one week. Nobody is
/// among those of [`spread`].
fn clustered(count: usize) -> Vec<u64> {
    let few = count / 100;
    let step = YEAR / count as u64 / 52;
    let anytime = spread(few).into_iter().map(|id| id + 1);
    let week = (0..(count - few) as u64).map(|n| YEAR + YEAR / 2 + n * step + 2);
    let mut ids: Vec<u64> = anytime.chain(week).collect();
    ids.sort_unstable();
    ids
}

/// What became of one tweet.
#[derive(Clone, Copy)]
struct Reach {
    /// Until the last follower had it.
    took: Duration,
    /// Hand-overs in a row.
    hops: u64,
    invocations: u64,
}

impl Reach {
    fn rows(self, followers: usize, note: &str) -> Vec<Row> {
        let figure = |what: &str, unit, value, goal| {
            Row::figure(
                PART,
                format!("{followers} followers{note}: {what}"),
                unit,
                value,
                goal,
            )
        };
        let seconds = self.took.as_secs_f64();
        let each = seconds / followers as f64;
        vec![
            figure("until the last one has it", Unit::Time, seconds, Goal::Told),
            figure("time per follower", Unit::Time, each, Goal::Told),
            figure(
                "hand-overs in a row",
                Unit::Count,
                self.hops as f64,
                Goal::AtMost(3.0),
            ),
            figure(
                "invocations",
                Unit::Count,
                self.invocations as f64,
                Goal::Told,
            ),
        ]
    }
}

const fn parameters(polling: &'static str) -> [(&'static str, &'static str); 6] {
    [
        ("ROOST_LAMBDA_POLLING", polling),
        ("CELEBRITY_THRESHOLD", "1000000000"),
        ("WARMING_RATE", "0"),
        // As a deployment has them by default.
        ("STREAM_MODE", "PROVISIONED"),
        ("STREAM_SHARDS", "1"),
        ("PARALLEL_BATCHES", "2"),
    ]
}

pub(crate) struct Bench {
    pub(crate) cloud: LocalCloud,
    pub(crate) tables: Tables,
    cache: Cache,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::of(LocalCloud::start(&parameters("false")).await).await
    }

    /// The same, polled as Lambda does.
    async fn polled_beside(&self) -> Self {
        Self::of(self.cloud.start_beside(&parameters("true")).await).await
    }

    async fn of(cloud: LocalCloud) -> Self {
        let tables = cloud.client().tables().await.expect("tables");
        let cache = cloud.client().cache().await.expect("a Redis");
        // Millions of edges are written here, and counting them is not what is measured.
        tables.stop_stream_of_followers().await;
        Self {
            cloud,
            tables,
            cache,
        }
    }

    /// An author with these followers.
    async fn author(&self, followers: &[u64]) -> User {
        let author = self.cloud.client().sign_up("author").await;
        self.follow(&author, followers).await;
        author
    }

    /// Makes all of these follow the author.
    pub(crate) async fn follow(&self, author: &User, followers: &[u64]) {
        let started = Instant::now();
        self.tables.load_followers(author.id, followers).await;
        let count = followers.len().to_string();
        let key = keys::user_counts(author.id);
        let set = ["HSET", key.as_str(), "follower_count", count.as_str()];
        self.cache.ask::<i64>(&set).await;
        println!("  {count} followers made in {:.0?}", started.elapsed());
    }

    /// The middle one of some tweets of this author, one after the other. They have to reach everybody.
    async fn median(&self, author: &User, followers: &[u64], tweets: usize) -> Reach {
        // The first one starts the functions.
        self.post(author, followers.len()).await;
        let mut all = Vec::new();
        for _ in 0..tweets {
            let (tweet, reach) = self.post(author, followers.len()).await;
            all.push(reach);
            if all.len() == tweets {
                self.check(followers, &entry(tweet, author.id)).await;
            }
        }
        all.sort_by_key(|reach| reach.took);
        all[all.len() / 2]
    }

    /// Posts, and waits until all followers were served.
    async fn post(&self, author: &User, followers: usize) -> (u64, Reach) {
        let tweet = author.post("to all of you").await.id;
        (tweet, self.served(tweet, followers).await)
    }

    async fn served(&self, tweet: u64, followers: usize) -> Reach {
        let started = Instant::now();
        loop {
            if let Some(reach) = self.receipt(tweet, followers).await {
                return reach;
            }
            assert!(started.elapsed() < LIMIT, "{tweet} does not arrive");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// What the receipt says, if all followers were served.
    async fn receipt(&self, tweet: u64, followers: usize) -> Option<Reach> {
        let key = format!("receipt:{{{tweet}}}");
        let ask = ["HMGET", &key, "followers", "last_ms", "hops", "pages"];
        let [served, last_ms, hops, pages]: [Option<u64>; 4] = self.cache.ask(&ask).await;
        served.filter(|served| *served >= followers as u64)?;
        Some(Reach {
            took: Duration::from_millis(last_ms?),
            hops: hops?,
            invocations: pages?,
        })
    }

    async fn check(&self, followers: &[u64], tweet: &[u8]) {
        let newest = self.cache.newest_entries(followers).await;
        let with = |newest: &&Option<Vec<u8>>| newest.as_deref() == Some(tweet);
        let with = newest.iter().filter(with).count();
        assert_eq!(with, followers.len(), "lists with the tweet");
    }

    /// A small author's tweets, while nothing else happens and while the star's tweets are delivered.
    async fn fairness(&self, star: &User, followers: &[u64]) -> Vec<Row> {
        let few = &followers[..SMALL_AUTHOR];
        let small = self.author(few).await;
        self.small_post(&small).await;
        let (mut alone, mut read_alone) = (Vec::new(), Vec::new());
        for _ in 0..SMALL_TWEETS {
            alone.push(self.small_post(&small).await);
            read_alone.push(self.read_one(&small).await);
        }
        let (mut beside, mut read_beside) = (Vec::new(), Vec::new());
        while beside.len() < SMALL_TWEETS {
            let large = star.post("to all of you").await.id;
            while self.receipt(large, followers.len()).await.is_none() {
                beside.push(self.small_post(&small).await);
                read_beside.push(self.read_one(&small).await);
            }
        }
        let parts = [("p50", 0.5, Goal::Told), ("p99", 0.99, Goal::AtMost(3.0))];
        let size = followers.len();
        let delivered = parts.map(|(name, part, goal)| {
            Row::beside(
                PART,
                format!(
                    "small author's delivery beside a fan-out to {size}, {name} of {}",
                    beside.len()
                ),
                Unit::Time,
                percentile(&mut beside, part),
                (format!("alone, {name}"), percentile(&mut alone, part)),
                goal,
            )
        });
        // A POST asks the local tables several times. They answer one request after the other, whoever asks.
        let read = parts.map(|(name, part, _)| {
            Row::beside(
                PART,
                format!("one item of the local tables beside a fan-out to {size}, {name}"),
                Unit::Time,
                percentile(&mut read_beside, part),
                (format!("alone, {name}"), percentile(&mut read_alone, part)),
                Goal::Told,
            )
        });
        delivered.into_iter().chain(read).collect()
    }

    /// How long the tables take for one item, in seconds.
    async fn read_one(&self, of: &User) -> f64 {
        let started = Instant::now();
        self.tables.counts_of(of.id).await;
        started.elapsed().as_secs_f64()
    }

    /// From the POST until all followers have the tweet, in seconds.
    async fn small_post(&self, author: &User) -> f64 {
        let started = Instant::now();
        let tweet = author.post("to some of you").await.id;
        while self.receipt(tweet, SMALL_AUTHOR).await.is_none() {
            assert!(started.elapsed() < LIMIT, "{tweet} does not arrive");
            sleep(Duration::from_millis(1)).await;
        }
        started.elapsed().as_secs_f64()
    }
}

fn percentile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part).round() as usize]
}
