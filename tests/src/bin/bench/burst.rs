//! A page after a burst, more tweets within ten seconds than a list keeps, against a page of somebody without one.

use shared::domain::{Entry, TweetId};
use shared::platform::now_millis;
use shared::stores::Timelines;

use crate::one_thread;
use crate::page::{Handler, Read, percentile, record};
use crate::report::{Goal, Pair, Row, Unit};
use crate::stack::{Reader, Stack, made};

const PART: &str = "burst";
const BURST: u64 = 1_100;
const BURST_MS: u64 = 9_900;
/// Measurements in turn, as so many groups.
const GROUPS: usize = 40;
const GROUP: usize = 25;

pub(crate) fn measure() -> Vec<Row> {
    println!("burst: {BURST} tweets within ten seconds, {GROUPS} groups of {GROUP} pages");
    one_thread().block_on(async {
        let stack = Stack::start().await;
        let (calm, busy) = (stack.reader().await, stack.reader().await);
        burst(&stack, &busy).await;
        let handler = |it: &Reader| Handler::new(&stack.roost(&[]), it.me, &it.subject);
        let (calm, busy) = (handler(&calm), handler(&busy));
        calm.warm_up().await;
        busy.warm_up().await;
        let mut pairs = Vec::new();
        for _ in 0..GROUPS {
            let (mut ours, mut limit) = (Vec::new(), Vec::new());
            for _ in 0..GROUP {
                limit.push(calm.time_afresh(Read::Latest).await);
                ours.push(busy.time_afresh(Read::Latest).await);
            }
            pairs.push(Pair {
                ours: percentile(&ours, 50),
                limit: percentile(&limit, 50),
            });
        }
        let (redis, dynamodb) = (stack.redis_proxy(), stack.dynamodb_proxy());
        let recording = record(&stack, &busy, &redis, &dynamodb).await;
        let (round_trips, asked) = (recording.round_trips() as f64, dynamodb.take().len() as f64);
        let (what, limit) = ("home page after a burst, p50", "without a burst");
        let trips = "round trips to Redis for a page after a burst";
        let tables = "requests to tables for a page after a burst";
        vec![
            Row::times(PART, what, limit, Goal::AtMost(1.5), &pairs),
            Row::figure(PART, trips, Unit::Count, round_trips, Goal::AtMost(3.0)),
            Row::figure(PART, tables, Unit::Count, asked, Goal::AtMost(0.0)),
        ]
    })
}

/// The tables have the tweets, and the reader's list gets them as by a fan-out.
async fn burst(stack: &Stack, reader: &Reader) {
    let start = now_millis() - BURST_MS;
    let authors = reader.authors.iter().cycle();
    let entries: Vec<Entry> = (0..BURST)
        .zip(authors)
        .map(|(n, author)| {
            let at = TweetId::first_at(start + BURST_MS * n / BURST);
            Entry::new(TweetId::new(at.get() + n), *author)
        })
        .collect();
    let rows = entries.iter().map(|it| (it.author.get(), it.tweet.get()));
    stack.tables.add_tweets(&rows.collect::<Vec<_>>()).await;
    let timelines = made(&stack.roost(&[]), Timelines::new);
    for entry in entries {
        let at = entry.tweet.millis();
        let delivered = timelines.deliver(entry, &[reader.me], at).await;
        assert_eq!(delivered.expect("a delivery"), 1);
    }
}
