//! What Redis holds for a list entry, a reader, a celebrity and a tweet, by Redis' own account (`MEMORY USAGE`).

use redis::{Connection, Value, cmd};
use roost_tests::{Cache, entry, keys};
use shared::domain::{TweetId, UserId};
use shared::platform::now_millis;

use crate::one_thread;
use crate::page::Handler;
use crate::report::{Goal, Row, Unit};
use crate::servers::{Servers, connect};
use crate::stack::Stack;

const PART: &str = "memory";
/// What a list keeps by default.
const CAP: usize = 800;
/// What it could keep instead.
const CAPS: [usize; 5] = [200, 400, 800, 1_200, 1_600];
/// Lists of each length, so that none is special.
const LISTS: u64 = 200;

pub(crate) fn measure() -> Vec<Row> {
    println!("memory: {LISTS} lists of each length; one reader, one celebrity, one tweet");
    let mut rows = lists();
    let runtime = one_thread();
    rows.extend(runtime.block_on(people_and_tweets()));
    rows
}

/// Lists alone, on a server of their own.
fn lists() -> Vec<Row> {
    let servers = Servers::single();
    let mut connection = connect(servers.ports[0]);
    let mut rows = Vec::new();
    for cap in CAPS {
        let bytes = list_bytes(&mut connection, cap);
        if cap == CAP {
            let what = "a list entry (lists of 800, key and expiry included)";
            let each = bytes / cap as f64;
            rows.push(Row::figure(
                PART,
                what,
                Unit::Bytes,
                each,
                Goal::AtMost(20.0),
            ));
        }
        let what = format!("a list with a cap of {cap}");
        let row = Row::figure(PART, what, Unit::Bytes, bytes, Goal::Told);
        rows.push(row.at("list", cap as f64));
    }
    rows
}

/// What the server's memory grows by with each list of so many entries. That includes what `MEMORY USAGE` leaves out.
fn list_bytes(connection: &mut Connection, entries: usize) -> f64 {
    cmd("FLUSHALL").exec(connection).expect("FLUSHALL");
    let before = used(connection);
    for user in 0..LISTS {
        let key = keys::home_timeline(fastrand::u64(1 << 60..1 << 61) + user);
        let now = now_millis();
        let mut pipeline = redis::pipe();
        for n in (0..entries as u64).rev() {
            let tweet = TweetId::first_at(now - n * 60_000).get() + fastrand::u64(..1 << 22);
            let author = fastrand::u64(1 << 60..1 << 61);
            let push = pipeline.cmd("LPUSH").arg(&key);
            push.arg(&entry(tweet, author)[..]).ignore();
        }
        pipeline.cmd("EXPIRE").arg(&key).arg(86_400).ignore();
        pipeline.exec(connection).expect("a list");
    }
    (used(connection) - before) / LISTS as f64
}

pub(crate) fn used(connection: &mut Connection) -> f64 {
    let info: String = cmd("INFO")
        .arg("memory")
        .query(connection)
        .expect("an answer");
    let used = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    used.and_then(|used| used.trim().parse().ok())
        .expect("a number of bytes")
}

/// What reading leaves in Redis.
async fn people_and_tweets() -> Vec<Row> {
    let stack = Stack::start().await;
    let idle = UserId::new(fastrand::u64(1 << 60..1 << 61));
    stack.tables.add_profiles(&[idle.get()]).await;
    let reader = stack.reader().await;
    let handler = Handler::new(&stack.roost(&[]), reader.me, &reader.subject);
    handler.warm_up().await;
    let keys: Vec<String> = stack.cache.ask(&["KEYS", "*"]).await;
    let of = |tag: &str| -> Vec<&String> {
        let tag = format!("{{{tag}}}");
        keys.iter().filter(|key| key.contains(&tag)).collect()
    };
    let mut readers = of(&reader.me.to_string());
    readers.extend(of(&reader.subject));
    let feeds = keys.iter().filter(|key| key.starts_with("user:{"));
    let celebrities = feeds.map(|key| tag(key)).collect::<Vec<_>>();
    let tweets = keys.iter().filter(|key| key.starts_with("tweet:{"));
    let tweets = tweets.map(|key| tag(key)).collect::<Vec<_>>();
    let idle = total(&stack.cache, &of(&idle.to_string())).await;
    let reader = total(&stack.cache, &readers).await;
    let mut each = [0.0; 2];
    for (each, tags) in each.iter_mut().zip([&celebrities, &tweets]) {
        for tag in tags {
            *each += total(&stack.cache, &of(tag)).await / tags.len() as f64;
        }
    }
    let told = |what, bytes| Row::figure(PART, what, Unit::Bytes, bytes, Goal::Told);
    let nothing = Goal::AtMost(0.0);
    vec![
        Row::figure(PART, "a user who does not read", Unit::Bytes, idle, nothing),
        told("an active reader, all keys, list of 800", reader),
        told("a celebrity, all keys, feed of 60 tweets", each[0]),
        told("a tweet with its counts", each[1]),
    ]
}

/// What stands between the braces of a key.
fn tag(key: &str) -> &str {
    let (_, rest) = key.split_once('{').unwrap_or_default();
    rest.split('}').next().unwrap_or_default()
}

async fn total(cache: &Cache, keys: &[&String]) -> f64 {
    let mut total = 0.0;
    for key in keys {
        let words = ["MEMORY", "USAGE", key, "SAMPLES", "0"];
        // A key may expire between the questions.
        if let Value::Int(bytes) = cache.ask(&words).await {
            total += bytes as f64;
        }
    }
    total
}
