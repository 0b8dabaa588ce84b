//! What a POST pays for delivering a small author's tweet before it is answered.
//!
//! Two authors post in turn through the same local cloud. One has as many followers as may be delivered at once, the other
//! has one more, so that the stream delivers theirs. Nobody posts before the last tweet has arrived everywhere. Streams are
//! polled as Lambda does: a stream that brings the tweet while it is still being delivered would deliver it again.

use std::time::{Duration, Instant};

use roost_tests::{Cache, LocalCloud, User, entry};
use shared::domain::UserId;
use shared::stores::Followers;
use tokio::time::sleep;

use crate::one_thread;
use crate::push::users;
use crate::report::{Goal, Pair, Row, Unit};
use crate::stack::{made, roost, sdk};

/// What may be delivered at once by default.
const BY_DEFAULT: u64 = 1_000;
/// What many have, and the default.
const FOLLOWERS: [u64; 2] = [100, BY_DEFAULT];
const PAIRS: usize = 30;
/// How long the stream may take before the benchmark gives up.
const LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn measure() -> Vec<Row> {
    let runtime = one_thread();
    let rows = FOLLOWERS.map(|followers| {
        println!("post: {followers} followers, {PAIRS} pairs");
        runtime.block_on(in_turn(followers))
    });
    rows.into_iter().flatten().collect()
}

async fn in_turn(followers: u64) -> [Row; 4] {
    let most = followers.to_string();
    let parameters = [
        ("ROOST_LAMBDA_POLLING", "true"),
        ("SYNC_FAN_OUT_FOLLOWERS", most.as_str()),
        ("WRITES_PER_MINUTE", "0"),
    ];
    let cloud = LocalCloud::start(&parameters).await;
    let tables = cloud.client().tables().await.expect("tables");
    let cache = cloud.client().cache().await.expect("a Redis");
    let [small, large] = cloud.client().sign_up_each(["small", "large"]).await;
    let ids: Vec<u64> = users(followers + 1).iter().map(|user| user.get()).collect();
    tables.add_followers(small.id, &ids[1..]).await;
    tables.add_followers(large.id, &ids).await;
    cache.activate(&ids).await;
    let (mut pairs, mut waits) = (Vec::new(), [Vec::new(), Vec::new()]);
    for round in 0..=PAIRS {
        let (limit, by_stream) = post(&large, &cache, &ids).await;
        let (ours, at_once) = post(&small, &cache, &ids[1..]).await;
        // The first pair starts sandboxes.
        if round > 0 {
            pairs.push(Pair { ours, limit });
            waits[0].push(at_once);
            waits[1].push(by_stream);
        }
    }
    let [at_once, by_stream] = waits.map(median);
    let reading = format!("of that POST: reading {followers} followers from the local tables");
    let read = read_followers(&cloud, &small, followers).await;
    let what = format!("POST by an author with {followers} followers, delivered with it");
    let wait = format!("from POST to the last of {followers} lists, delivered with it");
    let behind = "the same by the stream, polled as Lambda does";
    [
        Row::times(
            "post",
            what,
            "left to the stream",
            Goal::AtMost(1.5),
            &pairs,
        ),
        Row::figure("post", reading, Unit::Time, read, Goal::Told),
        Row::figure("post", wait, Unit::Time, at_once, Goal::Told),
        Row::figure("post", behind, Unit::Time, by_stream, Goal::Told),
    ]
}

/// How long the answer took, and how long it was until the last list had the tweet.
async fn post(author: &User, cache: &Cache, followers: &[u64]) -> (Duration, Duration) {
    let started = Instant::now();
    let tweet = author.post("how long does it take?").await;
    let answered = started.elapsed();
    let wanted = entry(tweet.id, author.id);
    while started.elapsed() < LIMIT {
        let lists = cache.home_timelines(followers).await;
        let found = started.elapsed();
        if lists.iter().all(|list| list.contains(&wanted.to_vec())) {
            // What else the stream does with it is over soon.
            sleep(Duration::from_millis(50)).await;
            return (answered, found);
        }
    }
    panic!("a tweet is not everywhere after {LIMIT:?}");
}

/// How long the tables take to name the followers, while nothing else happens, as a POST asks them.
async fn read_followers(cloud: &LocalCloud, author: &User, followers: u64) -> f64 {
    let roost = roost(&sdk().await, cloud.environment());
    let store = made(&roost, Followers::new);
    let mut times = Vec::new();
    for _ in 0..=PAIRS {
        let started = Instant::now();
        let page = store.page(UserId::new(author.id), None, followers as usize + 1);
        let found = page.await.expect("followers").ids.len();
        assert_eq!(found as u64, followers);
        times.push(started.elapsed());
    }
    // The first one connects.
    median(times.split_off(1))
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}
