//! A tweet is deleted while somebody reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roost_tests::{Interleavings, Party, Race, events};
use serde_json::Value;
use shared::domain::PageSize;

use super::{World, asks, expect_status, page_ids, reading, report};

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
            let reading: Party<Value> = {
                let (home_timeline, event) = (Arc::clone(&home_timeline), reading(&reader));
                Box::new(move || home_timeline.invoke(event))
            };
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
            let parties = vec![reading, deleting];
            let mut race = Race::start(&world.stage, &mut interleavings, contested, parties);
            while race.step().is_some() {
                // Once the 204 is out, nobody who comes is shown the tweet, whoever is still reading.
                if gone.load(Ordering::SeqCst) {
                    let page = world.read(&reader).await;
                    let ghost = page.tweets.iter().any(|tweet| tweet.id == doomed);
                    assert!(!ghost, "a ghost after{}", race.trace());
                }
            }
            let trace = race.trace();
            let (answers, in_time) = race.finish();
            world.expect_right(&reader, &trace).await;
            if in_time && page_ids(&answers[0]).contains(&doomed.get()) {
                // Who was shown the tweet must not be told that nothing has changed.
                let tag = answers[0]["headers"]["etag"].as_str().expect("a tag");
                let page = world
                    .home
                    .page(reader.id, None, PageSize::MAX_SIZE, Some(tag))
                    .await;
                assert!(page.is_some(), "304 for a deleted tweet after{trace}");
            }
        }
        report("a delete and a hydration", &interleavings, 3);
    }
}
