//! The push step by itself: one entry into the lists of many followers.

use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, SdkConfig};
use roost_tests::keys;
use shared::Roost;
use shared::domain::{Entry, TweetId, UserId};
use shared::platform::aws::Aws;
use shared::platform::config::Config;
use shared::platform::now_millis;
use shared::stores::Timelines;
use tokio::runtime::Runtime;

use crate::one_thread;
use crate::raw::{self, Raw, encode};
use crate::report::{Goal, Pair, Row};
use crate::servers::{SLOTS, Servers, key_slots};

const FOLLOWERS: u64 = 20_000;
const PAIRS: usize = 25;

pub(crate) fn measure() -> Vec<Row> {
    println!("push: {FOLLOWERS} followers, {PAIRS} pairs");
    let single = against_raw(&Servers::single(), "deliveries, one server", 0.85);
    let cluster = against_raw(&Servers::cluster(), "deliveries, three masters", 0.75);
    vec![single, cluster]
}

fn against_raw(servers: &Servers, what: &'static str, goal: f64) -> Row {
    let users = users(FOLLOWERS);
    let homes = homes(servers, &users);
    let mut connections: Vec<Raw> = servers
        .ports
        .iter()
        .map(|port| Raw::connect(*port))
        .collect();
    // Every list exists, so that every push is one.
    let start = by_server(&homes, &users, |user, into| {
        encode(&[b"RPUSH", key(user).as_bytes(), &[0; 16]], into);
    });
    raw::time(&mut connections, &start);
    let runtime = one_thread();
    let timelines = runtime.block_on(timelines(servers));
    let mut pairs = Vec::new();
    for round in 0..=PAIRS {
        let entry = Entry::new(TweetId::first_at(now_millis()), users[0]);
        let commands = by_server(&homes, &users, |user, into| {
            encode(&[b"LPUSHX", key(user).as_bytes(), &entry.to_bytes()], into);
        });
        let limit = raw::time(&mut connections, &commands);
        let ours = deliver(&runtime, &timelines, entry, &users);
        // The first pair opens connections.
        if round > 0 {
            pairs.push(Pair { ours, limit });
        }
    }
    Row::rates(
        "push",
        what,
        "raw pipelines",
        Goal::AtLeast(goal),
        users.len(),
        &pairs,
    )
}

pub(crate) fn deliver(
    runtime: &Runtime,
    timelines: &Timelines,
    entry: Entry,
    users: &[UserId],
) -> Duration {
    let started = Instant::now();
    runtime.block_on(async {
        let delivered = timelines.deliver(entry, users, now_millis()).await;
        assert_eq!(delivered.expect("a delivery"), users.len());
    });
    started.elapsed()
}

/// People who signed up one after the other, a second apart.
pub(crate) fn users(count: u64) -> Vec<UserId> {
    let newest = now_millis() - 1_000;
    let ids = (0..count).rev();
    ids.map(|n| UserId::first_at(newest - n * 1_000)).collect()
}

/// Which server has each user's list.
fn homes(servers: &Servers, users: &[UserId]) -> Vec<usize> {
    let count = servers.ports.len();
    if count == 1 {
        return vec![0; users.len()];
    }
    let slots = key_slots(servers.ports[0], users.iter().map(|user| key(*user)));
    let share = usize::from(SLOTS) / count;
    slots
        .into_iter()
        .map(|slot| (slot / share).min(count - 1))
        .collect()
}

/// The commands for each server, and how many they are.
pub(crate) fn by_server(
    homes: &[usize],
    users: &[UserId],
    command: impl Fn(UserId, &mut Vec<u8>),
) -> Vec<(Vec<u8>, usize)> {
    let servers = homes.iter().max().map_or(1, |last| last + 1);
    let mut commands = vec![(Vec::new(), 0); servers];
    for (user, home) in users.iter().zip(homes) {
        let (bytes, count) = &mut commands[*home];
        command(*user, bytes);
        *count += 1;
    }
    commands
}

pub(crate) fn key(user: UserId) -> String {
    keys::home_timeline(user.get())
}

pub(crate) async fn timelines(servers: &Servers) -> Timelines {
    let config = Config::from([
        ("REDIS_URL", servers.url().as_str()),
        (
            "REDIS_CLUSTER",
            if servers.is_cluster() {
                "true"
            } else {
                "false"
            },
        ),
        ("TIMELINE_TTL_DAYS", "1"),
        ("TIMELINE_CAP", "800"),
    ]);
    let sdk = SdkConfig::builder().behavior_version(BehaviorVersion::latest());
    let roost = Roost::new(config, Aws::from(sdk.build())).expect("a Redis URL");
    Timelines::new(&roost).expect("a configuration")
}
