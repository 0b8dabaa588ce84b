//! A profile changes while somebody reads its card.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roost_tests::{Interleavings, Party, Race, events};
use serde_json::{Value, json};

use super::{World, asks, asks_key, expect_status, reading, report};

#[tokio::test]
async fn a_changed_name_and_a_hydration_in_every_order_leave_no_old_name() {
    let Some(world) = World::new().await else {
        return;
    };
    let home_timeline = world.function(0, "home-timeline");
    let update_me = world.function(1, "update-me");
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let (reader, author) = (world.sign_up().await, world.sign_up().await);
        world.follow(&reader, &author).await;
        let tweets = world.tweets(&author, 2, 60_000).await;
        world.stores.given_list(reader.id, &tweets, true).await;
        let changed = Arc::new(AtomicBool::new(false));
        let changing: Party<Value> = {
            let (update_me, changed) = (Arc::clone(&update_me), Arc::clone(&changed));
            let body = json!({ "name": "Changed" });
            let event = events::http("PATCH", "/v1/users/me", &author.subject, Some(&body));
            Box::new(move || {
                let answer = update_me.invoke(event);
                expect_status(&answer, 200);
                changed.store(true, Ordering::SeqCst);
                answer
            })
        };
        let (them, row) = (author.id, format!("\"user#{}\"", author.id));
        let contested = move |_, text: &str, _| {
            asks_key(text, &["profile", "profile_fill"], them)
                || asks(text, "BatchGetItem", &row)
                || asks(text, "UpdateItem", &row)
        };
        let parties = vec![reading(&home_timeline, &reader), changing];
        let shown = async || {
            let page = world.read(&reader).await;
            let mut users = page.users.iter().filter(|user| user.id == author.id);
            users.next().map(|user| user.name.as_str().to_owned())
        };
        let new_name = async |race: &Race<'_, Value>| {
            // Once the 200 is out, every new read shows it, even if an older read is still about to cache the old one.
            if changed.load(Ordering::SeqCst) {
                let name = shown().await;
                assert_eq!(name.as_deref(), Some("Changed"), "after{}", race.trace());
            }
        };
        let outcome = world
            .watched_race(&reader, &mut interleavings, contested, parties, new_name)
            .await;
        let name = shown().await;
        assert_eq!(name.as_deref(), Some("Changed"), "after{}", outcome.trace);
    }
    report("a changed name and a hydration", &interleavings, 5);
}
