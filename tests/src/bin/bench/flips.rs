//! What a flip costs: an author with many followers becomes a celebrity, and then normal again, in a local cloud.
//!
//! Some followers are active. An active follower has a full list, and knows whom to pull. The cost is what Redis counts by
//! itself, and how often the log says that a share of the followers was told.

use std::time::{Duration, Instant};

use redis::{Connection, cmd, pipe};
use roost_tests::{User, field, keys};
use shared::domain::timeline::ListEnd;
use shared::domain::{Entry, Tier, TweetId, UserId};
use shared::platform::now_millis;
use shared::stores::{Tiers, Users};
use tokio::time::sleep;

use crate::one_thread;
use crate::reach::{Bench, largest, spread};
use crate::report::{Goal, Row, Unit};
use crate::servers::connect;
use crate::stack::{made, port_of, roost, sdk};

const PART: &str = "flips";
/// Followers of the author, and of how many one is active: full lists of a hundred thousand people would be two gigabytes.
/// Authors with more followers than `REACH` are left out.
const AUTHORS: [(usize, usize); 2] = [(100_000, 10), (1_000_000, 100)];
/// Entries of a list, and how far they are apart.
const CAP: u64 = 800;
const LISTED_EVERY_MS: u64 = 90_000;
/// Tweets of the author, more than a list keeps, and how far they are apart.
const TWEETS: u64 = 1_000;
const POSTED_EVERY_MS: u64 = 1_200_000;
/// Lists that are looked at after a flip.
const CHECKED: usize = 1_000;
/// No flip takes so long.
const LIMIT: Duration = Duration::from_secs(600);
/// If Redis had nothing to do for so long, everything before is over.
const QUIET: Duration = Duration::from_millis(500);

pub(crate) fn measure() -> Vec<Row> {
    let authors = AUTHORS.into_iter();
    let authors = authors.filter(|(followers, _)| *followers <= largest());
    let rows = authors.map(|(followers, one_in)| {
        println!("flips: {followers} followers, one in {one_in} of them active");
        one_thread().block_on(flip(followers, one_in))
    });
    rows.flatten().collect()
}

async fn flip(followers: usize, one_in: usize) -> Vec<Row> {
    let mut flips = Flips::prepare(followers, one_in).await;
    let promoted = flips.flip(Tier::Promoting).await;
    flips.check(true);
    let demoted = flips.flip(Tier::Demoting).await;
    flips.check(false);
    let active = flips.active.len();
    let rows = [("promotion", promoted), ("demotion", demoted)];
    let rows = rows.map(|(name, cost)| {
        cost.rows(&format!(
            "{name}, {followers} followers, {active} of them active"
        ))
    });
    rows.into_iter().flatten().collect()
}

struct Flips {
    bench: Bench,
    redis: Connection,
    users: Users,
    tiers: Tiers,
    author: User,
    newest: TweetId,
    active: Vec<u64>,
}

/// What Redis has done since its start.
#[derive(Clone, Copy)]
struct Counters {
    /// Those that scripts give are counted as well.
    commands: f64,
    bytes_in: f64,
    bytes_out: f64,
    /// Seconds that it has computed.
    busy: f64,
}

/// What one flip has cost.
struct Cost {
    took: Duration,
    /// Invocations that told followers.
    invocations: usize,
    redis: Counters,
}

impl Flips {
    async fn prepare(followers: usize, one_in: usize) -> Self {
        let bench = Bench::start().await;
        let environment = bench.cloud.environment();
        let mut redis = connect(port_of(&environment["REDIS_URL"]));
        let author = bench.cloud.client().sign_up("author").await;
        // Before there are followers: the stream delivers these to nobody.
        let tweets = posted(UserId::new(author.id));
        let rows = tweets.iter().map(|it| (it.author.get(), it.tweet.get()));
        bench.tables.add_tweets(&rows.collect::<Vec<_>>()).await;
        quiet(&mut redis).await;
        let ids = spread(followers);
        bench.follow(&author, &ids).await;
        let active: Vec<u64> = ids.into_iter().step_by(one_in).collect();
        activate(&mut redis, &active);
        let roost = roost(&sdk().await, environment);
        Self {
            users: made(&roost, Users::new),
            tiers: made(&roost, Tiers::new),
            bench,
            redis,
            author,
            newest: tweets[0].tweet,
            active,
        }
    }

    /// Flips the author, and waits until every follower was told.
    async fn flip(&mut self, to: Tier) -> Cost {
        quiet(&mut self.redis).await;
        let (before, told) = (Counters::read(&mut self.redis), self.told());
        let row = self.users.row(UserId::new(self.author.id)).await;
        let row = row.expect("tables").expect("a row");
        let settled = to.settled().map(Tier::as_str);
        let started = Instant::now();
        self.tiers.flip(&row, to).await.expect("a flip");
        loop {
            let tier = self.bench.tables.tier_of(self.author.id).await;
            if tier.map(|it| it.name).as_deref() == settled {
                break;
            }
            assert!(started.elapsed() < LIMIT, "a flip does not settle");
            sleep(Duration::from_millis(5)).await;
        }
        let took = started.elapsed();
        Cost {
            took,
            invocations: self.told() - told,
            redis: Counters::read(&mut self.redis).since(before),
        }
    }

    /// Invocations that have told followers of a flip so far.
    fn told(&self) -> usize {
        let log = self.bench.cloud.log();
        let told = log.lines().filter(|line| {
            line.contains("tier change told") && field(line, "user_id") == Some(self.author.id)
        });
        told.count()
    }

    /// A flip that forgot somebody would be quick for the wrong reason.
    fn check(&mut self, is_celebrity: bool) {
        let step = (self.active.len() / CHECKED).max(1);
        let (author, newest) = (self.author.id, self.newest);
        for user in self.active.iter().step_by(step) {
            let (pulls, list): (bool, Vec<Vec<u8>>) = pipe()
                .cmd("SISMEMBER")
                .arg(keys::my_celebs(*user))
                .arg(author)
                .cmd("LRANGE")
                .arg(keys::home_timeline(*user))
                .arg(0)
                .arg(-1)
                .query(&mut self.redis)
                .expect("a Redis");
            let entries = list.iter().filter_map(|bytes| Entry::from_bytes(bytes));
            let has = entries.map(|entry| entry.tweet).any(|it| it == newest);
            assert_eq!((pulls, has), (is_celebrity, !is_celebrity), "{user}");
        }
    }
}

/// The author's tweets, newest first.
fn posted(author: UserId) -> Vec<Entry> {
    let newest = now_millis() - POSTED_EVERY_MS;
    let at = (0..TWEETS).map(|n| TweetId::first_at(newest - n * POSTED_EVERY_MS));
    at.map(|tweet| Entry::new(tweet, author)).collect()
}

/// Gives these a list that is full, and nobody to pull.
fn activate(redis: &mut Connection, users: &[u64]) {
    let newest = now_millis();
    let entries = (1..=CAP).map(|n| {
        let tweet = TweetId::first_at(newest - n * LISTED_EVERY_MS);
        Entry::new(TweetId::new(tweet.get() + 1), UserId::new(n))
    });
    let mut entries: Vec<Entry> = entries.collect();
    entries.push(ListEnd::of(&entries, false).to_entry());
    let entries: Vec<Vec<u8>> = entries.iter().map(|entry| entry.to_bytes()).collect();
    for users in users.chunks(100) {
        let mut pipeline = pipe();
        for user in users {
            let list = pipeline.cmd("RPUSH").arg(keys::home_timeline(*user));
            list.arg(&entries).ignore();
            // An empty set has one member that is nobody.
            let pulled = pipeline.cmd("SADD").arg(keys::my_celebs(*user));
            pulled.arg(0).ignore();
        }
        pipeline.exec(redis).expect("lists");
    }
}

/// Waits until nobody asks Redis for anything.
async fn quiet(redis: &mut Connection) {
    let mut before = Counters::read(redis).commands;
    loop {
        sleep(QUIET).await;
        let commands = Counters::read(redis).commands;
        // Reading them is a command by itself, or two.
        if commands - before <= 2.0 {
            return;
        }
        before = commands;
    }
}

impl Counters {
    fn read(redis: &mut Connection) -> Self {
        let info: String = cmd("INFO").query(redis).expect("a Redis");
        let number = |name: &str| -> f64 {
            let line = { info.lines() }.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let number = line.and_then(|number| number.trim().parse().ok());
            number.expect("a number")
        };
        Self {
            commands: number("total_commands_processed"),
            bytes_in: number("total_net_input_bytes"),
            bytes_out: number("total_net_output_bytes"),
            busy: number("used_cpu_user") + number("used_cpu_sys"),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            commands: self.commands - before.commands,
            bytes_in: self.bytes_in - before.bytes_in,
            bytes_out: self.bytes_out - before.bytes_out,
            busy: self.busy - before.busy,
        }
    }
}

impl Cost {
    fn rows(&self, of: &str) -> Vec<Row> {
        let figures = [
            ("until it is settled", Unit::Time, self.took.as_secs_f64()),
            ("invocations", Unit::Count, self.invocations as f64),
            ("commands to Redis", Unit::Count, self.redis.commands),
            ("bytes to Redis", Unit::Bytes, self.redis.bytes_in),
            ("bytes from Redis", Unit::Bytes, self.redis.bytes_out),
            ("time that Redis computes", Unit::Time, self.redis.busy),
        ];
        let rows = figures.map(|(what, unit, value)| {
            Row::figure(PART, format!("{of}: {what}"), unit, value, Goal::Told)
        });
        rows.into()
    }
}
