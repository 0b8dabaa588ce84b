//! Somebody is followed or unfollowed while something else happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roost_tests::events::{StreamRecord, table_batch};
use roost_tests::{Function, Interleavings, Party, Race, events};
use serde_json::Value;

use super::{
    Person, World, asks_key, asks_table, expect_processed, expect_status, page_ids,
    post_and_fan_out, reading, report, shows,
};

/// The request, and then what its stream's consumer makes of it.
pub(super) fn change(
    functions: &[Arc<Function>; 2],
    method: &str,
    follower: &Person,
    followee: &Person,
    answered: &Arc<AtomicBool>,
) -> Party<Value> {
    let ([request, apply_follows], answered) = (functions.clone(), Arc::clone(answered));
    let path = format!("/v1/users/{}/follow", followee.id);
    let event = events::http_request(method, &path, &follower.subject);
    let (follower, followee) = (follower.id.get(), followee.id.get());
    let record = if method == "POST" {
        StreamRecord::followed(follower, followee)
    } else {
        StreamRecord::unfollowed(follower, followee)
    };
    Box::new(move || {
        expect_status(&request.invoke(event), 204);
        answered.store(true, Ordering::SeqCst);
        let answer = apply_follows.invoke(table_batch(&[&record]));
        expect_processed(&answer);
        answer
    })
}

#[tokio::test]
async fn an_unfollow_and_a_fan_out_in_every_order_leave_no_ghost() {
    let Some(world) = World::new().await else {
        return;
    };
    let unfollow = [
        world.function(0, "unfollow-user"),
        world.function(0, "apply-follows"),
    ];
    let fan_out = world.function(1, "fan-out-tweets");
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let reader = world.sign_up().await;
        let (author, other) = (world.sign_up().await, world.sign_up().await);
        for followee in [&author, &other] {
            world.follow(&reader, followee).await;
            world.tweets(followee, 2, 60_000).await;
        }
        // The reader has a list, and one tweet is on its way.
        world.read(&reader).await;
        let tweet = world.tweets(&author, 1, 500).await.remove(0);
        let gone = Arc::new(AtomicBool::new(false));
        let fanning_out: Party<Value> = {
            let fan_out = Arc::clone(&fan_out);
            let event = events::tweet_created(author.id.get(), tweet.tweet.get());
            Box::new(move || {
                let answer = fan_out.invoke(event);
                expect_processed(&answer);
                answer
            })
        };
        let parties = vec![
            change(&unfollow, "DELETE", &reader, &author, &gone),
            fanning_out,
        ];
        let (me, them) = (reader.id, author.id);
        let contested = move |_, text: &str, _| {
            asks_key(text, &["home_timeline", "unfollowed"], me)
                || asks_table(text, &["Query", "TransactWriteItems"], "followers", them)
        };
        let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
        while race.step().is_some() {
            if gone.load(Ordering::SeqCst) {
                let page = world.read(&reader).await;
                assert!(!shows(&page, &author), "a ghost after{}", race.trace());
                assert!(
                    shows(&page, &other),
                    "too much hidden after{}",
                    race.trace()
                );
            }
        }
        let trace = race.trace();
        race.finish();
        world.expect_right(&reader, &trace).await;
    }
    report("an unfollow and a fan-out", &interleavings, 10);
}

#[tokio::test]
async fn a_follow_and_a_post_in_every_order_lose_and_double_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let follow = [
        world.function(0, "follow-user"),
        world.function(0, "apply-follows"),
    ];
    let (post_tweet, fan_out) = (
        world.function(1, "post-tweet"),
        world.function(1, "fan-out-tweets"),
    );
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let (reader, author) = (world.sign_up().await, world.sign_up().await);
        world.tweets(&author, 2, 60_000).await;
        world.tweets(&reader, 1, 60_000).await;
        world.read(&reader).await;
        let followed = Arc::new(AtomicBool::new(false));
        let posting: Party<Value> = {
            let (post_tweet, fan_out) = (Arc::clone(&post_tweet), Arc::clone(&fan_out));
            let author = author.clone();
            Box::new(move || {
                post_and_fan_out(&post_tweet, &fan_out, &author);
                Value::Null
            })
        };
        let parties = vec![
            change(&follow, "POST", &reader, &author, &followed),
            posting,
        ];
        let (me, them) = (reader.id, author.id);
        let contested = move |_, text: &str, _| {
            asks_key(text, &["home_timeline"], me)
                || asks_table(text, &["Query", "TransactWriteItems"], "followers", them)
                || asks_table(text, &["Query", "PutItem"], "tweets", them)
        };
        let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
        while race.step().is_some() {}
        let trace = race.trace();
        race.finish();
        world.expect_right(&reader, &trace).await;
    }
    report("a follow and a post", &interleavings, 10);
}

/// A rebuild reads whom the reader follows; that changes under its hands.
async fn expect_right_when_a_rebuild_meets(method: &str) {
    let Some(world) = World::new().await else {
        return;
    };
    let home_timeline = world.function(0, "home-timeline");
    let function = if method == "POST" {
        "follow-user"
    } else {
        "unfollow-user"
    };
    let change_of_edge = [
        world.function(1, function),
        world.function(1, "apply-follows"),
    ];
    let author = world.sign_up().await;
    world.tweets(&author, 2, 60_000).await;
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let reader = world.sign_up().await;
        let own = world.tweets(&reader, 1, 60_500).await.remove(0);
        if method == "DELETE" {
            world.follow(&reader, &author).await;
        }
        let answered = Arc::new(AtomicBool::new(false));
        let rebuilding: Party<Value> = {
            let (home_timeline, event) = (Arc::clone(&home_timeline), reading(&reader));
            Box::new(move || home_timeline.invoke(event))
        };
        let parties = vec![
            rebuilding,
            change(&change_of_edge, method, &reader, &author, &answered),
        ];
        let (me, them) = (reader.id, author.id);
        let contested = move |_, text: &str, _| {
            // What only looks at the list, or whether there is one, is not what a rebuild can be wrong about.
            let looks = ["LRANGE", "LINDEX", "SET", "DEL"];
            asks_key(text, &["home_timeline", "unfollowed"], me)
                && !looks.iter().any(|command| text.starts_with(command))
                && !text.starts_with("SMEMBERS")
                || asks_table(text, &["Query"], "following", me)
                || asks_table(text, &["TransactWriteItems"], "following", them)
        };
        let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
        while race.step().is_some() {}
        let trace = race.trace();
        let (answers, in_time) = race.finish();
        if in_time {
            let shown = page_ids(&answers[0]);
            assert!(shown.contains(&own.tweet.get()), "{shown:?} in{trace}");
        }
        world.expect_right(&reader, &trace).await;
    }
    report(&format!("a rebuild and {function}"), &interleavings, 15);
}

#[tokio::test]
async fn a_rebuild_and_a_follow_in_every_order_lose_and_double_nothing() {
    expect_right_when_a_rebuild_meets("POST").await;
}

#[tokio::test]
async fn a_rebuild_and_an_unfollow_in_every_order_leave_no_ghost() {
    expect_right_when_a_rebuild_meets("DELETE").await;
}
