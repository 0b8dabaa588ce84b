//! A crowd that follows the same celebrities: what one celebrity's key has to bear, and what a page takes then.
//!
//! A sandbox is a thread here. It has its own connection and its own memory of feeds, and reads one page at a time. Pages are
//! due at a fixed rate and count from when they were due, so that a sandbox that falls behind cannot hide it.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use redis::{Connection, cmd};
use shared::Roost;
use shared::domain::UserId;
use shared::flows::home_timeline::HomeTimelines;
use tokio::time::{Instant, sleep_until};

use crate::one_thread;
use crate::page::{Handler, PART, Read, percentile};
use crate::report::{Goal, Row, Unit};
use crate::servers::connect;
use crate::stack::{CELEBRITIES, Reader, Stack, made};

/// People who read.
const READERS: usize = 40;
const SANDBOXES: usize = 10;
/// Pages a second, of all sandboxes together.
const RATE: usize = 1_000;
const SECONDS: usize = 4;
/// Pages that one reader reads alone, one after the other.
const ALONE: usize = 500;

/// Who reads: the id, and the name that a token has.
type Person = (UserId, String);

/// What one run has led to.
struct Crowd {
    /// Pages a second, as many as the machine has managed.
    pages: f64,
    /// Commands a second that one celebrity's key has got.
    commands: f64,
    times: Vec<Duration>,
}

pub(crate) async fn rows(stack: &Stack, first: &Reader) -> Vec<Row> {
    println!("  {READERS} readers of the same celebrities, {RATE} pages a second");
    let mut people = vec![(first.me, first.subject.clone())];
    while people.len() < READERS {
        let reader = stack.reader_beside(first).await;
        people.push((reader.me, reader.subject));
    }
    let alone = alone(stack, &people[0]).await;
    let forgetful = crowd(stack, &people, false);
    let remembering = crowd(stack, &people, true);
    let what = format!("{RATE} pages a second: commands a second on one celebrity's key");
    let limit = ("without the memory of sandboxes", forgetful.commands);
    let told = Goal::Told;
    let mut rows = vec![Row::beside(
        PART,
        what,
        Unit::Rate,
        remembering.commands,
        limit,
        told,
    )];
    for (name, crowd) in [("", &remembering), (" without the memory", &forgetful)] {
        let what = format!("{RATE} pages a second: managed{name}");
        rows.push(Row::figure(PART, what, Unit::Rate, crowd.pages, told));
        for percent in [50, 99] {
            let what = format!("{RATE} pages a second: a page{name}, p{percent}");
            let time = |times: &[Duration]| percentile(times, percent).as_secs_f64();
            let limit = (format!("one reader alone, p{percent}"), time(&alone));
            rows.push(Row::beside(
                PART,
                what,
                Unit::Time,
                time(&crowd.times),
                limit,
                told,
            ));
        }
    }
    rows
}

/// One reader in one sandbox, with nobody else there.
async fn alone(stack: &Stack, (me, subject): &Person) -> Vec<Duration> {
    let handler = Handler::new(&stack.roost(&[]), *me, subject);
    handler.warm_up().await;
    let mut times = Vec::new();
    for _ in 0..ALONE {
        times.push(handler.time(Read::Latest).await);
    }
    times
}

/// Everybody, for [`SECONDS`].
fn crowd(stack: &Stack, people: &[Person], remembers: bool) -> Crowd {
    let mut redis = connect(stack.redis_port());
    let ready = Arc::new(Barrier::new(SANDBOXES + 1));
    let sandboxes: Vec<_> = (0..SANDBOXES)
        .map(|number| {
            let (roost, people, ready) = (stack.roost(&[]), people.to_vec(), Arc::clone(&ready));
            thread::spawn(move || {
                let runtime = one_thread();
                runtime.block_on(sandbox(number, &roost, &people, remembers, &ready))
            })
        })
        .collect();
    ready.wait();
    let (before, started) = (feed_reads(&mut redis), Instant::now());
    let times = sandboxes.into_iter();
    let times = times.flat_map(|sandbox| sandbox.join().expect("a sandbox"));
    let times: Vec<Duration> = times.collect();
    let took = started.elapsed().as_secs_f64();
    let reads = feed_reads(&mut redis) - before;
    Crowd {
        pages: times.len() as f64 / took,
        commands: reads / CELEBRITIES as f64 / took,
        times,
    }
}

/// One sandbox, to which anybody may come.
async fn sandbox(
    number: usize,
    roost: &Roost,
    people: &[Person],
    remembers: bool,
    ready: &Barrier,
) -> Vec<Duration> {
    let handler = |(me, subject): &Person| Handler::new(roost, *me, subject);
    let handlers: Vec<Handler> = people.iter().map(handler).collect();
    let home = made(roost, HomeTimelines::new);
    for handler in &handlers {
        handler.time_with(&home, Read::Latest).await;
    }
    ready.wait();
    let start = Instant::now();
    let mut times = Vec::new();
    for page in 0..RATE * SECONDS / SANDBOXES {
        let turn = u32::try_from(page * SANDBOXES + number).unwrap_or(u32::MAX);
        let due = start + Duration::from_secs(1) * turn / RATE as u32;
        sleep_until(due).await;
        let handler = &handlers[fastrand::usize(..handlers.len())];
        if remembers {
            handler.time_with(&home, Read::Latest).await;
        } else {
            handler.time_afresh(Read::Latest).await;
        }
        times.push(due.elapsed());
    }
    times
}

/// Commands so far that read feeds. Nothing else is read by this command.
fn feed_reads(redis: &mut Connection) -> f64 {
    let info: String = cmd("INFO")
        .arg("commandstats")
        .query(redis)
        .expect("a Redis");
    let line = { info.lines() }.find_map(|it| it.strip_prefix("cmdstat_zrevrangebyscore:calls="));
    let calls = line.and_then(|line| line.split(',').next()?.parse().ok());
    calls.unwrap_or_default()
}
