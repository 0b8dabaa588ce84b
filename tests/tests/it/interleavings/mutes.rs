//! Somebody is muted, or not any more, while somebody reads what is missing from Redis.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roost_tests::{Function, Interleavings, Party, Race, events};
use serde_json::{Value, json};
use shared::domain::Relation;

use super::{Person, World, asks_key, asks_table, expect_status, reading, report, shows};

/// The party that mutes somebody, or does the opposite. `answered` becomes true at its end, unless it gave up on Redis
/// because it was held for too long.
fn muting(
    request: &Arc<Function>,
    method: &str,
    me: &Person,
    author: &Person,
    answered: &Arc<AtomicBool>,
) -> Party<Value> {
    let (request, answered) = (Arc::clone(request), Arc::clone(answered));
    let path = format!("/v1/users/{}/mute", author.id);
    let event = events::http_request(method, &path, &me.subject);
    Box::new(move || {
        let answer = request.invoke(event);
        answered.store(answer["statusCode"] == json!(204), Ordering::SeqCst);
        answer
    })
}

/// A reader finds out who is muted while that changes. Once the change is answered, it holds.
async fn expect_right_when_a_fill_meets(name: &str, method: &str) {
    let Some(world) = World::new().await else {
        return;
    };
    let mutes = method == "PUT";
    let home_timeline = world.function(0, "home-timeline");
    let request = world.function(1, name);
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let (reader, author) = (world.sign_up().await, world.sign_up().await);
        world.follow(&reader, &author).await;
        world.tweets(&author, 2, 60_000).await;
        world.tweets(&reader, 1, 60_500).await;
        if !mutes {
            let relations = world.stores.relations();
            let added = relations
                .add(Relation::Mute, reader.id, author.id, 1, None)
                .await;
            added.expect("the table answers");
        }
        let answered = Arc::new(AtomicBool::new(false));
        let parties = vec![
            world.after_loss_of(
                format!("excluded:{{{}}}", reader.id),
                0,
                reading(&home_timeline, &reader),
            ),
            muting(&request, method, &reader, &author, &answered),
        ];
        let me = reader.id;
        let contested = move |_, text: &str, _| {
            // What only looks cannot go wrong. Of the three queries under way at once, one is enough.
            let looks = ["LINDEX", "GET"];
            asks_key(text, &["excluded", "excluded_fill"], me)
                && !looks.iter().any(|command| text.starts_with(command))
                || asks_table(text, &["Query"], "relations", me) && text.contains("\"mute#\"")
                || asks_table(text, &["TransactWriteItems"], "relations", me)
        };
        let right = async |race: &Race<'_, Value>| {
            if answered.load(Ordering::SeqCst) {
                let page = world.read(&reader).await;
                assert_eq!(shows(&page, &author), !mutes, "after{}", race.trace());
                assert!(shows(&page, &reader), "after{}", race.trace());
            }
        };
        let outcome = world
            .watched_race(&reader, &mut interleavings, contested, parties, right)
            .await;
        if let Some(answer) = outcome.answers.get(1) {
            expect_status(answer, 204);
        }
    }
    report(&format!("a reader and {name}"), &interleavings, 10);
}

#[tokio::test]
async fn a_reader_who_looks_up_mutes_and_a_mute_in_every_order_leave_no_ghost() {
    expect_right_when_a_fill_meets("mute-user", "PUT").await;
}

#[tokio::test]
async fn a_reader_who_looks_up_mutes_and_the_end_of_one_in_every_order_lose_nothing() {
    expect_right_when_a_fill_meets("unmute-user", "DELETE").await;
}
