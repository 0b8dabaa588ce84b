//! While an author becomes a celebrity and normal again, people go on reading.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use roost_tests::events::{Flip, caught_flips};
use roost_tests::{
    Cache, Tables, User, expect_followers, expect_oracle, expect_tier, expect_timeline,
    in_parallel, stretched,
};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::{DEMOTED, PROMOTED, cloud, expect_settled};

const FOLLOWERS: usize = 60;
const READERS: usize = 20;
/// Below 0.8 of the threshold.
const FAITHFUL: usize = 30;
const READ_EVERY: Duration = Duration::from_millis(200);
/// The time between one follow or unfollow and the next.
const CHANGE_EVERY: Duration = Duration::from_millis(60);
/// How long the number of followers stays the same, at the beginning, at the top and at the end.
const PLATEAU: Duration = Duration::from_millis(1_500);
/// What is in the lists or in the feed must be on every page after this: sandboxes keep a feed in memory for a second.
const CACHED: Duration = Duration::from_millis(1_300);
/// Milliseconds from 1970 to the beginning of tweet ids.
const ID_EPOCH_MS: u64 = 1_767_225_600_000;
/// How long the streams may take to catch up after consumers were killed.
const RECOVERY: Duration = Duration::from_secs(60);
const CONSUMERS: [&str; 7] = [
    "fan-out-pages",
    "fan-out-tweets",
    "count-follows",
    "publish-tweets",
    "apply-follows",
    "publish-tier-changes",
    "apply-tier-changes",
];

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.expect("it is later than 1970").as_millis()).expect("milliseconds")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).expect("milliseconds")
}

/// One tweet of the author's.
struct Posted {
    id: u64,
    acknowledged_ms: u64,
}

/// What one read met: all of the author's tweets down to `floor`.
struct Read {
    began_ms: u64,
    ended_ms: u64,
    shown: HashSet<u64>,
    floor: u64,
}

/// Reads until told to stop: mostly a first page, every fifth time everything. That no page and no walk has a duplicate
/// or is out of order is checked on every page that any test reads.
async fn read_until(reader: &User, number: usize, over: &AtomicBool) -> Vec<Read> {
    let mut reads = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let began_ms = now_ms();
        let limit = [100, 33][(reads.len() + number) % 2];
        let everything = (reads.len() + number).is_multiple_of(5);
        let mut walk = reader.walking(limit);
        let (mut shown, mut floor) = (HashSet::new(), 0);
        while let Some(page) = walk.next().await {
            let page = page.expect("a page is complete, and short only at the end");
            shown.extend(page.data.iter().map(|tweet| tweet.id));
            if !everything && page.meta.next_cursor.is_some() {
                floor = page.meta.oldest_id.unwrap_or_default();
                break;
            }
        }
        let ended_ms = now_ms();
        reads.push(Read {
            began_ms,
            ended_ms,
            shown,
            floor,
        });
        sleep(READ_EVERY).await;
    }
    reads
}

/// When the feed was first seen to have each tweet.
async fn watch_feed(cache: &Cache, star: &User, over: &AtomicBool) -> HashMap<u64, u64> {
    let mut arrived = HashMap::new();
    while !over.load(Ordering::Relaxed) {
        let feed = cache.feed(star.id).await;
        let now = now_ms();
        for tweet in feed {
            arrived.entry(tweet).or_insert(now);
        }
        sleep(Duration::from_millis(40)).await;
    }
    arrived
}

/// From when on each tweet has to be on every page, in milliseconds since 1970.
///
/// How long a tweet takes to get through the streams is a matter of the machine and not of flips, so that time is not
/// guessed but observed: a tweet has arrived when its fan-out was done, or, if it had none, when the feed had it. But it
/// has to arrive within `limit`.
fn due_times(
    posted: &[Posted],
    fan_out_ages: &HashMap<u64, u64>,
    in_feed: &HashMap<u64, u64>,
    limit: Duration,
) -> HashMap<u64, u64> {
    let mut delays = Vec::new();
    let due = posted
        .iter()
        .map(|tweet| {
            let fanned_out = fan_out_ages
                .get(&tweet.id)
                .map(|age| (tweet.id >> 22) + ID_EPOCH_MS + age);
            let at_last = tweet.acknowledged_ms + millis(limit);
            let arrived = fanned_out
                .or_else(|| in_feed.get(&tweet.id).copied())
                .unwrap_or(at_last);
            delays.push(arrived.saturating_sub(tweet.acknowledged_ms));
            (tweet.id, at_last.min(arrived + millis(CACHED)))
        })
        .collect();
    delays.sort_unstable();
    println!(
        "tweets arrived within {} ms in the median, {} ms at most; {} were not fanned out",
        delays[delays.len() / 2],
        delays[delays.len() - 1],
        posted
            .iter()
            .filter(|tweet| !fan_out_ages.contains_key(&tweet.id))
            .count()
    );
    due
}

/// What is wrong with one reader's reads: tweets that were due but missing, and tweets that were shown before but are gone.
fn complaints(reads: &[Read], due: &HashMap<u64, u64>) -> Vec<String> {
    let mut first_seen: HashMap<u64, u64> = HashMap::new();
    let mut complaints = Vec::new();
    for (n, read) in reads.iter().enumerate() {
        let missing = |since: &HashMap<u64, u64>, grace: Duration| {
            since
                .iter()
                .filter(|(id, at)| {
                    **id >= read.floor
                        && **at + millis(grace) <= read.began_ms
                        && !read.shown.contains(id)
                })
                .map(|(id, _)| *id)
                .collect::<BTreeSet<_>>()
        };
        for (what, missing) in [
            ("is missing", missing(due, Duration::ZERO)),
            ("has vanished", missing(&first_seen, CACHED)),
        ] {
            if let Some(id) = missing.first() {
                complaints.push(format!(
                    "read {n}, at {}: {id} {what}, of {} such",
                    read.began_ms,
                    missing.len()
                ));
            }
        }
        for id in &read.shown {
            first_seen.entry(*id).or_insert(read.ended_ms);
        }
    }
    complaints
}

/// Posts, and now and then reposts what somebody has posted whom nobody follows.
async fn post_until(
    star: &User,
    outsider: &User,
    pause: Duration,
    posted: &RefCell<Vec<Posted>>,
    over: &AtomicBool,
) {
    let mut number = 0;
    while !over.load(Ordering::Relaxed) {
        let next = Instant::now() + pause;
        let tweet = star.post(&format!("number {number}")).await;
        posted.borrow_mut().push(Posted {
            id: tweet.id,
            acknowledged_ms: now_ms(),
        });
        if number % 5 == 0 {
            let tweet = outsider.post(&format!("pass on {number}")).await;
            star.repost(&tweet).await;
        }
        number += 1;
        sleep(next.saturating_duration_since(Instant::now())).await;
    }
}

/// People follow until the author is a celebrity, and unfollow until the author is normal again.
async fn follow_and_unfollow(tables: &Tables, star: &User, followers: &[User]) {
    sleep(PLATEAU).await;
    for fan in &followers[READERS..] {
        fan.follow(star).await;
        sleep(CHANGE_EVERY).await;
    }
    expect_tier(tables, star, "celebrity", 1, RECOVERY).await;
    sleep(PLATEAU).await;
    for fan in &followers[FAITHFUL..] {
        fan.unfollow(star).await;
        sleep(CHANGE_EVERY).await;
    }
    expect_tier(tables, star, "normal", 2, RECOVERY).await;
    sleep(2 * PLATEAU).await;
}

struct Trial {
    post_every: Duration,
    /// An acknowledged tweet must be on every page that reaches down to it after this time, whatever happens.
    limit: Duration,
    /// Are the consumers of streams killed meanwhile?
    kill: bool,
}

/// An author crosses the threshold and comes back, and no read is wrong meanwhile. Gives the flips that were published;
/// `None` if there is no local cloud to try it on.
async fn expect_invisible_flips(trial: &Trial) -> Option<Vec<Flip>> {
    let (cloud, tables, cache) = cloud("50", "25").await?;
    let roost = cloud.client();
    let [star, outsider] = roost.sign_up_each(["star", "outsider"]).await;
    let followers = roost.sign_up_many("fan", FOLLOWERS).await;
    in_parallel(
        4,
        followers.iter().enumerate().map(|(n, fan)| {
            let star = &star;
            async move {
                // Most have a timeline before they follow.
                if n % 4 != 0 {
                    fan.newest().await;
                }
                if n < READERS {
                    fan.follow(star).await;
                }
            }
        }),
    )
    .await;
    expect_followers(&star, READERS as i64).await;

    let (posted, over, stop) = (RefCell::default(), AtomicBool::new(false), Notify::new());
    let killing = async {
        if trial.kill {
            let random = fastrand::Rng::new();
            println!("seed {}", random.get_seed());
            cloud
                .keep_killing(&CONSUMERS, 150..350, random, &stop)
                .await
        } else {
            0
        }
    };
    let changing = async {
        follow_and_unfollow(&tables, &star, &followers).await;
        over.store(true, Ordering::Relaxed);
        stop.notify_one();
    };
    let readers = followers[..READERS].iter().enumerate();
    let reading = in_parallel(
        READERS,
        readers.map(|(n, reader)| read_until(reader, n, &over)),
    );
    let ((), (), in_feed, reads, killed) = tokio::join!(
        changing,
        post_until(&star, &outsider, trial.post_every, &posted, &over),
        watch_feed(&cache, &star, &over),
        reading,
        killing
    );
    let (posted, number) = (
        posted.into_inner(),
        reads.iter().map(Vec::len).sum::<usize>(),
    );
    println!(
        "{} tweets, {number} reads, {killed} sandboxes killed",
        posted.len()
    );
    assert!(
        !trial.kill || killed >= 20,
        "only {killed} sandboxes were killed"
    );

    // At rest, so that the log has everything.
    expect_oracle(&tables, followers.iter().chain([&star]), 100, RECOVERY).await;
    let due = due_times(
        &posted,
        &cloud.fan_out_ages(),
        &in_feed,
        stretched(trial.limit),
    );
    let wrong: Vec<_> = reads
        .iter()
        .flat_map(|reads| complaints(reads, &due))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {number} reads were wrong: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(8)]
    );
    for reader in &followers[..3] {
        let expected = tables.home_timeline_of(reader.id).await;
        expect_timeline(&reader.walk(7).await, &expected).expect("also in small pages");
    }
    expect_settled(&tables, &star, "normal", 2).await;
    Some(caught_flips(roost.target(), star.id).await)
}

#[tokio::test]
async fn crossing_the_threshold_and_back_is_invisible_to_readers() {
    let trial = Trial {
        post_every: Duration::from_millis(40),
        limit: Duration::from_secs(10),
        kill: false,
    };
    let Some(flips) = expect_invisible_flips(&trial).await else {
        return;
    };
    assert_eq!(flips, [PROMOTED, DEMOTED]);
}

#[tokio::test]
async fn crossing_the_threshold_and_back_is_invisible_while_consumers_are_killed() {
    let trial = Trial {
        post_every: Duration::from_millis(100),
        // If its consumer dies, a record is delivered again, which takes a while.
        limit: RECOVERY,
        kill: true,
    };
    let Some(flips) = expect_invisible_flips(&trial).await else {
        return;
    };
    // A publisher that was killed may have published a flip twice.
    let distinct: BTreeSet<_> = flips.into_iter().collect();
    assert_eq!(distinct, BTreeSet::from([PROMOTED, DEMOTED]));
}
