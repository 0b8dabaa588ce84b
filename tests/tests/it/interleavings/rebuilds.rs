//! A list that is missing is rebuilt while something else happens to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redis::cmd;
use roost_tests::{Contest, Function, Interleavings, Party, Race, events};
use serde_json::Value;
use shared::domain::{Entry, UserId};

use super::{
    Person, World, asks, asks_key, asks_table, expect_processed, page_ids, post_and_fan_out,
    reading, report,
};

async fn author(world: &World) -> (Person, Vec<Entry>) {
    let author = world.sign_up().await;
    let tweets = world.tweets(&author, 3, 60_000).await;
    (author, tweets)
}

/// A reader without a list, who follows an author and posted something, too. Gives what the timeline holds.
async fn reader_of(world: &World, author: &Person, tweets: &[Entry]) -> (Person, Vec<u64>) {
    let reader = world.sign_up().await;
    world.follow(&reader, author).await;
    let mut entries = world.tweets(&reader, 1, 60_500).await;
    entries.extend_from_slice(tweets);
    let mut ids: Vec<u64> = entries.iter().map(|entry| entry.tweet.get()).collect();
    ids.sort_unstable_by(|a, b| b.cmp(a));
    (reader, ids)
}

fn read(function: &Arc<Function>, reader: &Person) -> Party<Value> {
    let (function, event) = (Arc::clone(function), reading(reader));
    Box::new(move || function.invoke(event))
}

/// What a rebuild and whatever else touches the same list do: the list itself, the right to rebuild it, and what an
/// author posted.
fn contested(reader: UserId, author: UserId) -> impl Fn(usize, &str, usize) -> bool {
    move |_, text, _| {
        asks_key(text, &["home_timeline", "rebuild"], reader)
            || asks_table(text, &["Query", "PutItem"], "tweets", author)
    }
}

/// A page that was read during a race shows all that was there before, and perhaps what was posted meanwhile.
fn expect_page(answer: &Value, before: &[u64], trace: &str) {
    let shown = page_ids(answer);
    let old: Vec<u64> = shown
        .iter()
        .copied()
        .filter(|id| before.contains(id))
        .collect();
    assert_eq!(old, before, "a page that was read in{trace}");
    assert!(shown.is_sorted_by(|a, b| a > b), "{shown:?} in{trace}");
}

#[tokio::test]
async fn a_rebuild_and_a_fan_out_in_every_order_lose_and_double_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let home_timeline = world.function(0, "home-timeline");
    let (post_tweet, fan_out) = (
        world.function(1, "post-tweet"),
        world.function(1, "fan-out-tweets"),
    );
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let (author, tweets) = author(&world).await;
        let (reader, before) = reader_of(&world, &author, &tweets).await;
        let posting: Party<Value> = {
            let (post_tweet, fan_out) = (Arc::clone(&post_tweet), Arc::clone(&fan_out));
            let author = author.clone();
            Box::new(move || {
                post_and_fan_out(&post_tweet, &fan_out, &author);
                Value::Null
            })
        };
        let parties = vec![read(&home_timeline, &reader), posting];
        let contested = contested(reader.id, author.id);
        let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
        while race.step().is_some() {}
        let trace = race.trace();
        let (answers, in_time) = race.finish();
        if in_time {
            expect_page(&answers[0], &before, &trace);
        }
        world.expect_right(&reader, &trace).await;
    }
    report("a rebuild and a fan-out", &interleavings, 20);
}

#[tokio::test]
async fn a_rebuild_and_a_late_delivery_in_every_order_double_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let home_timeline = world.function(0, "home-timeline");
    let fan_out = world.function(1, "fan-out-tweets");
    let (author, tweets) = author(&world).await;
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let (reader, before) = reader_of(&world, &author, &tweets).await;
        // In the middle of what the rebuild finds.
        let late = events::tweet_created(author.id.get(), tweets[1].tweet.get());
        let delivering: Party<Value> = {
            let fan_out = Arc::clone(&fan_out);
            Box::new(move || {
                let answer = fan_out.invoke(late);
                expect_processed(&answer);
                answer
            })
        };
        let parties = vec![read(&home_timeline, &reader), delivering];
        let contested = contested(reader.id, author.id);
        let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
        while race.step().is_some() {}
        let trace = race.trace();
        let (answers, in_time) = race.finish();
        if in_time {
            expect_page(&answers[0], &before, &trace);
        }
        world.expect_right(&reader, &trace).await;
    }
    report("a rebuild and a late delivery", &interleavings, 8);
}

#[tokio::test]
async fn two_rebuilds_in_every_order_fill_the_list_once() {
    let Some(world) = World::new().await else {
        return;
    };
    let sandboxes = [0, 1].map(|party| world.function(party, "home-timeline"));
    let (author, tweets) = author(&world).await;
    let mut interleavings = Interleavings::of_parties_alike();
    while interleavings.advance() {
        let (reader, before) = reader_of(&world, &author, &tweets).await;
        let parties = sandboxes.iter().map(|sandbox| read(sandbox, &reader));
        let me = reader.id;
        let contested = move |_, text: &str, before: usize| {
            if !asks_key(text, &["home_timeline", "rebuild"], me) {
                return Contest::No;
            }
            match (text.split(' ').next(), before) {
                // Who comes second looks again and again until the first one is through.
                (Some("LRANGE" | "SET"), 1..) => Contest::Waits,
                // Once as a reader, and then as the one who has the right to rebuild.
                (Some("LINDEX"), 1..) => Contest::No,
                _ => Contest::Yes,
            }
        };
        let parties = parties.collect();
        let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
        while race.step().is_some() {}
        let trace = race.trace();
        let (answers, in_time) = race.finish();
        if in_time {
            for answer in &answers {
                assert_eq!(page_ids(answer), before, "a page that was read in{trace}");
            }
        }
        world.expect_right(&reader, &trace).await;
    }
    report("two rebuilds", &interleavings, 20);
}

#[tokio::test]
async fn a_rebuild_that_is_taken_over_while_somebody_posts_loses_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let sandboxes = [0, 1].map(|party| world.function(party, "home-timeline"));
    let (post_tweet, fan_out) = (
        world.function(2, "post-tweet"),
        world.function(2, "fan-out-tweets"),
    );
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let (author, tweets) = author(&world).await;
        let (reader, before) = reader_of(&world, &author, &tweets).await;
        let posted = Arc::new(AtomicU64::new(0));
        let posting: Party<Value> = {
            let (post_tweet, fan_out) = (Arc::clone(&post_tweet), Arc::clone(&fan_out));
            let (author, posted) = (author.clone(), Arc::clone(&posted));
            Box::new(move || {
                let tweet = post_and_fan_out(&post_tweet, &fan_out, &author);
                posted.store(tweet.get(), Ordering::SeqCst);
                Value::Null
            })
        };
        // The second reader comes when the first one's right to rebuild has run out.
        let second: Party<Value> = {
            let (stage, read) = (world.stage.clone(), read(&sandboxes[1], &reader));
            let redis = world.environment["REDIS_URL"].clone();
            let right = format!("rebuild:{{{}}}", reader.id);
            Box::new(move || {
                stage.step(1, &format!("runs out: {right}"), || {
                    let redis = redis::Client::open(redis).and_then(|redis| redis.get_connection());
                    let mut redis = redis.expect("Redis answers");
                    cmd("DEL").arg(right).exec(&mut redis).expect("DEL");
                });
                read()
            })
        };
        let parties = vec![read(&sandboxes[0], &reader), second, posting];
        let (me, them) = (reader.id, author.id);
        // Three parties have many orders, so only what matters most: the first reader has read the tables and is about
        // to fill the list, the second does all of it over again, and a tweet is stored and pushed.
        let contested = move |party: usize, text: &str, _| {
            let fills = asks(text, "EVALSHA", &format!("home_timeline:{{{me}}}"));
            let second = asks_key(text, &["home_timeline"], me)
                && ["RPUSH", "LPUSHX", "EVALSHA"]
                    .iter()
                    .any(|command| text.starts_with(command))
                || text.starts_with("runs out")
                || asks_table(text, &["Query", "PutItem"], "tweets", them);
            if party == 0 { fills } else { second }
        };
        let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
        while race.step().is_some() {
            // A list that says it is whole has everything that was delivered before.
            let delivered = posted.load(Ordering::SeqCst);
            if let Some(shown) = world.read_at_once(&reader).await {
                let mut wanted = before.iter().chain((delivered > 0).then_some(&delivered));
                let trace = race.trace();
                assert!(
                    wanted.all(|id| shown.contains(id)),
                    "{shown:?} after{trace}"
                );
            }
        }
        let trace = race.trace();
        let (answers, in_time) = race.finish();
        if in_time {
            for answer in &answers[..2] {
                expect_page(answer, &before, &trace);
            }
        }
        world.expect_right(&reader, &trace).await;
    }
    report("a rebuild that is taken over", &interleavings, 20);
}
