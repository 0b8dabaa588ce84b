//! The rest of a list is filled in behind its reader while something else happens to the list.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::cmd;
use roost_tests::{Function, Interleavings, Party, Race, events};
use serde_json::Value;
use shared::domain::Entry;

use super::follows::change;
use super::{
    Person, World, asks, asks_key, asks_table, expect_processed, expect_status, post_and_fan_out,
    reading, report, shows,
};

/// An author with more tweets than the first page of a reader's list has.
async fn author(world: &World) -> (Person, Vec<Entry>) {
    let author = world.sign_up().await;
    let tweets = world.tweets(&author, 6, 60_000).await;
    (author, tweets)
}

/// A reader whose list holds the newest two of these tweets, and says so.
async fn reader_with_first_page(world: &World, author: &Person, tweets: &[Entry]) -> Person {
    let reader = world.sign_up().await;
    world.follow(&reader, author).await;
    let timelines = world.stores.timelines();
    let token = timelines.begin_rebuild(reader.id).await;
    let token = token.expect("Redis answers").expect("a new user's list");
    let filled = timelines
        .finish_first_page(reader.id, token, &tweets[..2])
        .await;
    assert!(filled.expect("Redis answers"));
    reader
}

fn filling(fill_timelines: &Arc<Function>, reader: &Person) -> Party<Value> {
    let (fill_timelines, user) = (Arc::clone(fill_timelines), reader.id.get());
    Box::new(move || {
        let answer = fill_timelines.invoke(events::timeline_fill(user));
        expect_processed(&answer);
        answer
    })
}

#[tokio::test]
async fn a_fill_and_a_fan_out_in_every_order_lose_and_double_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let fill_timelines = world.function(0, "fill-timelines");
    let (post_tweet, fan_out) = (
        world.function(1, "post-tweet"),
        world.function(1, "fan-out-tweets"),
    );
    for late in [false, true] {
        let mut interleavings = Interleavings::default();
        while interleavings.advance() {
            let (author, tweets) = author(&world).await;
            let reader = reader_with_first_page(&world, &author, &tweets).await;
            let delivering: Party<Value> = {
                let (post_tweet, fan_out) = (Arc::clone(&post_tweet), Arc::clone(&fan_out));
                let author = author.clone();
                // From below what the list has so far.
                let event = events::tweet_created(author.id.get(), tweets[4].tweet.get());
                Box::new(move || {
                    if late {
                        expect_processed(&fan_out.invoke(event));
                    } else {
                        post_and_fan_out(&post_tweet, &fan_out, &author);
                    }
                    Value::Null
                })
            };
            let parties = vec![filling(&fill_timelines, &reader), delivering];
            let (me, them) = (reader.id, author.id);
            let contested = move |_, text: &str, _| {
                asks_key(text, &["home_timeline"], me)
                    || asks_table(text, &["Query", "PutItem"], "tweets", them)
            };
            let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
            while race.step().is_some() {}
            let trace = race.trace();
            race.finish();
            world.expect_right(&reader, &trace).await;
        }
        report("a fill and a fan-out", &interleavings, 4);
    }
}

#[tokio::test]
async fn a_fill_and_a_list_that_is_lost_and_rebuilt_in_every_order_lose_and_double_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let fill_timelines = world.function(0, "fill-timelines");
    let home_timeline = world.function(1, "home-timeline");
    let (author, tweets) = author(&world).await;
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let reader = reader_with_first_page(&world, &author, &tweets).await;
        let rebuilding: Party<Value> = {
            let (stage, home_timeline) = (world.stage.clone(), Arc::clone(&home_timeline));
            let redis = world.environment["REDIS_URL"].clone();
            let (list, event) = (format!("home_timeline:{{{}}}", reader.id), reading(&reader));
            Box::new(move || {
                stage.step(1, &format!("is lost: {list}"), || {
                    let redis = redis::Client::open(redis).and_then(|redis| redis.get_connection());
                    let mut redis = redis.expect("Redis answers");
                    cmd("DEL").arg(list).exec(&mut redis).expect("DEL");
                });
                let answer = home_timeline.invoke(event);
                expect_status(&answer, 200);
                answer
            })
        };
        let parties = vec![filling(&fill_timelines, &reader), rebuilding];
        let (me, them) = (reader.id, author.id);
        let contested = move |party: usize, text: &str, _| {
            let reads_only = party == 1 && (text.starts_with('L') || text.starts_with("DEL"));
            asks_key(text, &["home_timeline"], me) && !reads_only
                || party == 0 && asks_table(text, &["Query"], "tweets", them)
        };
        let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
        while race.step().is_some() {
            // A list that says it is whole is whole.
            if let Some(shown) = world.read_at_once(&reader).await {
                let wanted: Vec<u64> = tweets.iter().map(|entry| entry.tweet.get()).collect();
                assert_eq!(shown, wanted, "after{}", race.trace());
            }
        }
        let trace = race.trace();
        race.finish();
        world.expect_right(&reader, &trace).await;
    }
    report("a fill and a rebuild", &interleavings, 10);
}

/// Whom the reader follows changes while the fill reads it.
async fn expect_right_when_a_fill_meets(method: &str) {
    let Some(world) = World::new().await else {
        return;
    };
    let fill_timelines = world.function(0, "fill-timelines");
    let function = if method == "POST" {
        "follow-user"
    } else {
        "unfollow-user"
    };
    let change_of_edge = [
        world.function(1, function),
        world.function(1, "apply-follows"),
    ];
    let ((author, tweets), (other, _)) = (author(&world).await, author(&world).await);
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let reader = reader_with_first_page(&world, &author, &tweets).await;
        // Followed anew, with tweets above and below the floor; or unfollowed, with tweets in the list.
        let followee = if method == "POST" { &other } else { &author };
        let answered = Arc::new(AtomicBool::new(false));
        let parties = vec![
            filling(&fill_timelines, &reader),
            change(&change_of_edge, method, &reader, followee, &answered),
        ];
        let (me, them) = (reader.id, followee.id);
        let contested = move |party: usize, text: &str, _| {
            let list = asks_key(text, &["home_timeline", "unfollowed"], me);
            // Of the fill, what decides: which list it finds, whom it reads of, and what it adds.
            let fill = asks(text, "LINDEX", "") || asks(text, "EVALSHA", "");
            list && (party == 1 || fill)
                || party == 0 && asks_table(text, &["Query"], "following", me)
                || asks_table(text, &["TransactWriteItems"], "following", them)
        };
        let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
        while race.step().is_some() {
            if method == "DELETE" && answered.load(Ordering::SeqCst) {
                let page = world.read(&reader).await;
                assert!(!shows(&page, &author), "a ghost after{}", race.trace());
            }
        }
        let trace = race.trace();
        race.finish();
        world.expect_right(&reader, &trace).await;
    }
    report(&format!("a fill and {function}"), &interleavings, 15);
}

#[tokio::test]
async fn a_fill_and_a_follow_in_every_order_lose_and_double_nothing() {
    expect_right_when_a_fill_meets("POST").await;
}

#[tokio::test]
async fn a_fill_and_an_unfollow_in_every_order_leave_no_ghost() {
    expect_right_when_a_fill_meets("DELETE").await;
}
