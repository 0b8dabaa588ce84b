//! A tweet or an account is deleted while somebody reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::cmd;
use roost_tests::{Interleavings, Party, Race, events};
use serde_json::Value;
use shared::domain::{KnownTags, PageSize};

use super::{Outcome, World, asks, asks_key, expect_status, reading, report, shown_ids};

#[tokio::test]
async fn a_delete_and_a_hydration_in_every_order_leave_no_ghost() {
    let Some(world) = World::new().await else {
        return;
    };
    let home_timeline = world.function(0, "home-timeline");
    let delete_tweet = world.function(1, "delete-tweet");
    for cached in [false, true] {
        let mut interleavings = Interleavings::default();
        while interleavings.advance() {
            let (reader, author) = (world.sign_up().await, world.sign_up().await);
            world.follow(&reader, &author).await;
            let tweets = world.tweets(&author, 3, 60_000).await;
            world.stores.given_list(reader.id, &tweets, true).await;
            let doomed = tweets[1].tweet;
            if cached {
                world.read(&reader).await;
            }
            let gone = Arc::new(AtomicBool::new(false));
            let deleting: Party<Value> = {
                let (delete_tweet, gone) = (Arc::clone(&delete_tweet), Arc::clone(&gone));
                let path = format!("/v1/tweets/{doomed}");
                let event = events::http_request("DELETE", &path, &author.subject);
                Box::new(move || {
                    let answer = delete_tweet.invoke(event);
                    expect_status(&answer, 204);
                    gone.store(true, Ordering::SeqCst);
                    answer
                })
            };
            let card = format!("tweet:{{{doomed}}}");
            let item = format!("\"{doomed}\"");
            let contested = move |_, text: &str, _| {
                asks(text, "", &card)
                    || asks(text, "BatchGetItem", &item)
                    || asks(text, "DeleteItem", &item)
            };
            let parties = vec![reading(&home_timeline, &reader), deleting];
            let no_ghost = async |race: &Race<'_, Value>| {
                // Once the 204 is out, a new read does not show the tweet, even if an older read is still under way.
                if gone.load(Ordering::SeqCst) {
                    let page = world.read(&reader).await;
                    let ghost = page
                        .tweets
                        .iter()
                        .any(|listed| listed.seen.tweet.id == doomed);
                    assert!(!ghost, "a ghost after{}", race.trace());
                }
            };
            let Outcome { trace, answers } = world
                .watched_race(&reader, &mut interleavings, contested, parties, no_ghost)
                .await;
            if let Some(answer) = answers.first()
                && shown_ids(answer).contains(&doomed.get())
            {
                // A reader to whom the tweet was shown must not be told that nothing has changed.
                let tag = answer["headers"]["etag"].as_str().expect("a tag");
                let page = world
                    .home
                    .page(
                        reader.id,
                        None,
                        PageSize::MAX_SIZE,
                        Some(&KnownTags::parse(tag)),
                    )
                    .await;
                assert!(!page.unchanged, "304 for a deleted tweet after{trace}");
            }
        }
        report("a delete and a hydration", &interleavings, 3);
    }
}

#[tokio::test]
async fn an_account_that_goes_while_its_card_is_read_leaves_no_card() {
    let Some(world) = World::new().await else {
        return;
    };
    let home_timeline = world.function(0, "home-timeline");
    let delete_me = world.function(1, "delete-me");
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let (reader, author) = (world.sign_up().await, world.sign_up().await);
        world.follow(&reader, &author).await;
        let tweets = world.tweets(&author, 2, 60_000).await;
        world.stores.given_list(reader.id, &tweets, true).await;
        let deleting: Party<Value> = {
            let delete_me = Arc::clone(&delete_me);
            let event = events::http_request("DELETE", "/v1/users/me", &author.subject);
            Box::new(move || {
                let answer = delete_me.invoke(event);
                expect_status(&answer, 204);
                answer
            })
        };
        let (them, row) = (author.id, format!("\"user#{}\"", author.id));
        let contested = move |_, text: &str, _| {
            asks_key(text, &["profile", "user_counts"], them) && !text.starts_with("HMGET")
                || asks(text, "BatchGetItem", &row)
                || asks(text, "TransactWriteItems", &row)
        };
        let parties = vec![reading(&home_timeline, &reader), deleting];
        let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
        while race.step().is_some() {}
        let trace = race.trace();
        race.finish();
        let key = |name: &str| format!("{name}:{{{}}}", author.id);
        let profile: Option<String> = world.stores.redis(cmd("GET").arg(key("profile"))).await;
        let is_card = profile.is_some_and(|profile| profile.starts_with('{'));
        assert!(!is_card, "a card of nobody after{trace}");
        let mut tier = cmd("HGET");
        let tier: Option<String> = world
            .stores
            .redis(tier.arg(key("user_counts")).arg("tier"))
            .await;
        assert_eq!(tier, None, "counts of nobody after{trace}");
    }
    report("a deletion and a hydration", &interleavings, 5);
}
