//! A repost is taken back while somebody reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roost_tests::{Interleavings, Party, Race, events};
use serde_json::Value;
use shared::domain::Entry;

use super::{Outcome, Person, World, asks, expect_status, reading, report};

/// Two people whom the reader follows have reposted a tweet of somebody else's, the first one ten seconds earlier. Gives the
/// reposts, the newer one first.
async fn given_reposts(world: &World, reader: &Person, reposters: [&Person; 2]) -> [Entry; 2] {
    let outsider = world.sign_up().await;
    let tweets = world.tweets(&outsider, 1, 90_000).await;
    let (original, stores) = (tweets[0], &world.stores);
    let (reactions, table) = (stores.reactions(), stores.tweets());
    let mut reposts = Vec::new();
    for (person, age_ms) in reposters.into_iter().zip([60_000, 70_000]) {
        world.follow(reader, person).await;
        let place = world.place(person, age_ms);
        let repost = place.reposting(original.reference());
        let stored = reactions.repost(&table, repost, original).await;
        stored.expect("the table answers").expect("a new repost");
        reposts.push(repost);
    }
    stores.given_list(reader.id, &reposts, true).await;
    reposts.try_into().expect("two")
}

/// The reader is shown the tweet once, and as long as one repost stands. The older one is shown; when it is taken back, the
/// newer one.
#[tokio::test]
async fn a_repost_that_is_taken_back_in_any_order_with_a_hydration_leaves_the_other_one() {
    let Some(world) = World::new().await else {
        return;
    };
    let home_timeline = world.function(0, "home-timeline");
    let unrepost_tweet = world.function(1, "unrepost-tweet");
    for cached in [false, true] {
        let mut interleavings = Interleavings::default();
        while interleavings.advance() {
            let [reader, newer, older] = [
                world.sign_up().await,
                world.sign_up().await,
                world.sign_up().await,
            ];
            let [left, doomed] = given_reposts(&world, &reader, [&newer, &older]).await;
            if cached {
                world.read(&reader).await;
            }
            let gone = Arc::new(AtomicBool::new(false));
            let taking_back: Party<Value> = {
                let (function, gone) = (Arc::clone(&unrepost_tweet), Arc::clone(&gone));
                let path = format!("/v1/tweets/{}/repost", doomed.shown().tweet);
                let event = events::http_request("DELETE", &path, &older.subject);
                Box::new(move || {
                    let answer = function.invoke(event);
                    expect_status(&answer, 204);
                    gone.store(true, Ordering::SeqCst);
                    answer
                })
            };
            let (card, item) = (
                format!("tweet:{{{}}}", doomed.tweet),
                format!("\"{}\"", doomed.tweet),
            );
            let contested = move |_, text: &str, _| {
                asks(text, "", &card)
                    || asks(text, "BatchGetItem", &item)
                    || asks(text, "TransactWriteItems", &item)
            };
            let parties = vec![reading(&home_timeline, &reader), taking_back];
            let shown_once = async |race: &Race<'_, Value>| {
                let over = gone.load(Ordering::SeqCst);
                let page = world.read(&reader).await;
                let places: Vec<_> = page
                    .tweets
                    .iter()
                    .map(|listed| listed.place.tweet)
                    .collect();
                let expected = if over { left.tweet } else { doomed.tweet };
                // While the request is under way, either is right.
                let right = places == [expected] || (!over && places == [left.tweet]);
                assert!(right, "{places:?} after{}", race.trace());
            };
            let Outcome { .. } = world
                .watched_race(&reader, &mut interleavings, contested, parties, shown_once)
                .await;
        }
        report("a repost taken back and a hydration", &interleavings, 3);
    }
}
