//! What people use instead: a sorted set per follower, filled by a program in Python; and Roost's own code without one of
//! its two ways, push and pull.
//!
//! The Python program (`instead.py`) speaks to the same Redis in turn with Roost. Stream-Framework, which does the same with
//! more around it, is not measured: its last release, 1.4.0, cannot be imported with redis-py 3 or later, which has no
//! `BasePipeline`.

use std::env;
use std::io::{BufRead, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use redis::{Connection, cmd, pipe};
use roost_tests::{entry, keys, workspace};
use shared::domain::{Entry, TweetId, UserId};
use shared::platform::now_millis;
use shared::stores::{Feeds, Timelines};

use crate::memory::used;
use crate::one_thread;
use crate::page::{Handler, Read, percentile};
use crate::push;
use crate::report::{Goal, Pair, Row, Unit};
use crate::servers::{Servers, connect};
use crate::stack::{Stack, made};

const PART: &str = "instead";
const FOLLOWERS: u64 = 2_000;
/// Every list and every set is full, as those of active readers are.
const CAP: u64 = 800;
const PAIRS: usize = 15;
const PAGES: usize = 20;
/// Followers of the celebrity whose tweet is pushed on paper.
const MANY: f64 = 1e6;

pub(crate) fn measure() -> Vec<Row> {
    println!("instead: {FOLLOWERS} followers with {CAP} tweets each, {PAIRS} pairs");
    let mut rows = Vec::new();
    match python() {
        Some(python) => rows.extend(sorted_sets(&python)),
        None => println!("  no Python with redis-py: run make bench, which installs it"),
    }
    rows.extend(one_way_only());
    rows
}

/// The program's interpreter, which `make bench` sees to.
fn python() -> Option<PathBuf> {
    let named = env::var_os("BENCH_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| workspace().join(".venv/instead/bin/python"));
    python.exists().then_some(python)
}

/// The program in Python, waiting for commands.
struct Classic {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Classic {
    fn start(python: &PathBuf, port: u16) -> Self {
        let mut child = Command::new(python)
            .args(["-c", include_str!("instead.py")])
            .args([port.to_string(), FOLLOWERS.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a Python that starts");
        Self {
            commands: child.stdin.take().expect("a pipe"),
            answers: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
        }
    }

    fn tell(&mut self, command: &str, argument: u64) -> Duration {
        writeln!(self.commands, "{command} {argument}").expect("a Python that reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("an answer");
        let seconds = answer.trim().parse().expect("seconds");
        Duration::from_secs_f64(seconds)
    }
}

impl Drop for Classic {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sorted_sets(python: &PathBuf) -> Vec<Row> {
    let servers = Servers::single();
    let mut connection = connect(servers.ports[0]);
    let users = push::users(FOLLOWERS);
    let before = used(&mut connection);
    fill_lists(&mut connection, &users);
    let lists = used(&mut connection) - before;
    fill_sets(&mut connection);
    let sets = used(&mut connection) - before - lists;
    let entries = (FOLLOWERS * CAP) as f64;
    let bytes = Row::beside(
        PART,
        "bytes an entry",
        Unit::Bytes,
        lists / entries,
        ("a sorted set", sets / entries),
        Goal::Told,
    );
    let runtime = one_thread();
    let timelines = runtime.block_on(push::timelines(&servers));
    let mut classic = Classic::start(python, servers.ports[0]);
    let mut pairs = Vec::new();
    for round in 0..=PAIRS {
        let entry = Entry::new(TweetId::first_at(now_millis()), users[0]);
        let limit = classic.tell("push", entry.tweet.get());
        let ours = push::deliver(&runtime, &timelines, entry, &users);
        // The first pair opens connections.
        if round > 0 {
            pairs.push(Pair { ours, limit });
        }
    }
    let (what, limit) = ("deliveries", "sorted sets in Python");
    let pushes = Row::rates(PART, what, limit, Goal::Told, users.len(), &pairs);
    let reads = 500;
    let read = classic.tell("read", reads) / u32::try_from(reads).unwrap_or(1);
    let what = "ids of a page in Python, one ZREVRANGE";
    let read = Row::figure(PART, what, Unit::Time, read.as_secs_f64(), Goal::Told);
    vec![pushes, bytes, read]
}

fn fill_lists(connection: &mut Connection, users: &[UserId]) {
    for user in users {
        let (mut push, now) = (cmd("LPUSH"), now_millis());
        push.arg(keys::home_timeline(user.get()));
        for n in (1..=CAP).rev() {
            let tweet = TweetId::first_at(now - n * 60_000);
            push.arg(&entry(tweet.get(), users[0].get())[..]);
        }
        push.exec(connection).expect("a list");
    }
}

/// Scores are doubles, which is why the classic order is by the time and not by the last bit of the id.
fn fill_sets(connection: &mut Connection) {
    for user in 0..FOLLOWERS {
        let (mut pipeline, now) = (pipe(), now_millis());
        let add = pipeline.cmd("ZADD").arg(format!("feed:{user}"));
        for n in (1..=CAP).rev() {
            let tweet = TweetId::first_at(now - n * 60_000);
            add.arg(tweet.get()).arg(tweet.get());
        }
        pipeline.exec(connection).expect("a set");
    }
}

/// Push alone makes a celebrity's tweet a million writes. Pull alone makes a page a query for each followed person.
fn one_way_only() -> Vec<Row> {
    one_thread().block_on(async {
        let stack = Stack::start().await;
        let reader = stack.reader().await;
        let roost = stack.roost(&[]);
        let handler = Handler::new(&roost, reader.me, &reader.subject);
        handler.warm_up().await;
        let list = keys::home_timeline(reader.me.get());
        let mut pairs = Vec::new();
        for _ in 0..PAGES {
            let ours = handler.time_afresh(Read::Latest).await;
            stack.cache.ask::<usize>(&["DEL", &list]).await;
            let limit = handler.time_afresh(Read::Latest).await;
            pairs.push(Pair { ours, limit });
        }
        let (what, limit) = ("home page", "by pull alone, from the tables");
        let pulled = Row::times(PART, what, limit, Goal::Told, &pairs);
        let (feeds, timelines) = (made(&roost, Feeds::new), made(&roost, Timelines::new));
        let users = push::users(FOLLOWERS);
        let ids: Vec<u64> = users.iter().map(|user| user.get()).collect();
        stack.cache.activate(&ids).await;
        let (mut adds, mut pushes) = (Vec::new(), Vec::new());
        for _ in 0..PAIRS {
            let entry = Entry::new(TweetId::first_at(now_millis()), users[0]);
            let started = Instant::now();
            feeds.add(entry).await.expect("a feed");
            adds.push(started.elapsed());
            let started = Instant::now();
            let delivered = timelines.deliver(entry, &users, now_millis()).await;
            delivered.expect("a delivery");
            pushes.push(started.elapsed());
        }
        let one = percentile(&adds, 50).as_secs_f64();
        let all = percentile(&pushes, 50).as_secs_f64() * MANY / FOLLOWERS as f64;
        let what = "a celebrity's tweet to 1 M followers";
        let limit = ("by push alone, at this run's rate", all);
        vec![
            pulled,
            Row::beside(PART, what, Unit::Time, one, limit, Goal::Told),
        ]
    })
}
