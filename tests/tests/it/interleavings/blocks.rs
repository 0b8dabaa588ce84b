//! Somebody is blocked while something else happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roost_tests::events::{StreamRecord, table_batch};
use roost_tests::{Function, Interleavings, Party, Race, events};
use serde_json::{Value, json};
use shared::domain::Relation;

use super::{
    Person, World, asks_key, asks_table, delivering, expect_processed, expect_status, report, shows,
};

/// The party that blocks somebody. `answered` becomes true at its end, unless it gave up on Redis because it was held for
/// too long.
fn blocking(
    block_user: &Arc<Function>,
    blocker: &Person,
    blocked: &Person,
    answered: &Arc<AtomicBool>,
) -> Party<Value> {
    let (block_user, answered) = (Arc::clone(block_user), Arc::clone(answered));
    let path = format!("/v1/users/{}/block", blocked.id);
    let event = events::http_request("PUT", &path, &blocker.subject);
    Box::new(move || {
        let answer = block_user.invoke(event);
        answered.store(answer["statusCode"] == json!(204), Ordering::SeqCst);
        answer
    })
}

#[tokio::test]
async fn a_block_and_a_follow_in_every_order_leave_no_edge() {
    let Some(world) = World::new().await else {
        return;
    };
    let block_user = world.function(0, "block-user");
    let follow_user = world.function(1, "follow-user");
    let apply_follows = world.function(1, "apply-follows");
    let (mut interleavings, mut followed, mut refused) = (Interleavings::default(), 0, 0);
    while interleavings.advance() {
        let (blocker, blocked) = (world.sign_up().await, world.sign_up().await);
        world.tweets(&blocker, 2, 60_000).await;
        world.tweets(&blocked, 1, 60_500).await;
        world.read(&blocked).await;
        let path = format!("/v1/users/{}/follow", blocker.id);
        let request = events::http_request("POST", &path, &blocked.subject);
        let record = StreamRecord::followed(blocked.id.get(), blocker.id.get());
        let (follow_user, apply_follows) = (Arc::clone(&follow_user), Arc::clone(&apply_follows));
        let following: Party<Value> = Box::new(move || {
            let answer = follow_user.invoke(request);
            if answer["statusCode"] == json!(204) {
                expect_processed(&apply_follows.invoke(table_batch(&[&record])));
            }
            answer
        });
        let answered = Arc::new(AtomicBool::new(false));
        let parties = vec![
            blocking(&block_user, &blocker, &blocked, &answered),
            following,
        ];
        let (me, them) = (blocked.id, blocker.id);
        let contested = move |_, text: &str, _| {
            asks_table(text, &["TransactWriteItems"], "followers", them)
                || asks_table(text, &["TransactWriteItems"], "relations", them)
                || asks_key(text, &["home_timeline", "hidden"], me)
        };
        let away = async |race: &Race<'_, Value>| {
            if answered.load(Ordering::SeqCst) {
                let page = world.read(&blocked).await;
                assert!(!shows(&page, &blocker), "after{}", race.trace());
                assert!(shows(&page, &blocked), "after{}", race.trace());
            }
        };
        // Boxed, because all of it together is too large for the stack of a test.
        let race = world.watched_race(&blocked, &mut interleavings, contested, parties, away);
        let outcome = Box::pin(race).await;
        if !answered.load(Ordering::SeqCst) {
            assert!(outcome.answers.is_empty(), "no answer in{}", outcome.trace);
            continue;
        }
        for person in [&blocker, &blocked] {
            let id = person.id.get();
            let edges = (
                world.tables.following_of(id).await.len(),
                world.tables.followers_of(id).await.len(),
            );
            assert_eq!(edges, (0, 0), "edges are left after{}", outcome.trace);
        }
        match outcome.answers.get(1).map(|answer| &answer["statusCode"]) {
            Some(status) if *status == json!(204) => followed += 1,
            Some(status) => {
                assert_eq!(*status, json!(403), "{}", outcome.trace);
                refused += 1;
            }
            None => {}
        }
    }
    println!("{followed} follows came first, {refused} were refused");
    assert!(followed > 0 && refused > 0, "always in the same order");
    report("a block and a follow", &interleavings, 10);
}

#[tokio::test]
async fn a_block_and_a_fan_out_in_every_order_leave_no_ghost() {
    let Some(world) = World::new().await else {
        return;
    };
    let block_user = world.function(0, "block-user");
    let fan_out = world.function(1, "fan-out-tweets");
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let reader = world.sign_up().await;
        let (author, other) = (world.sign_up().await, world.sign_up().await);
        for followee in [&author, &other] {
            world.follow(&reader, followee).await;
            world.tweets(followee, 2, 60_000).await;
        }
        world.read(&reader).await;
        let tweet = world.tweets(&author, 1, 500).await.remove(0);
        let answered = Arc::new(AtomicBool::new(false));
        // It is the author who blocks the reader.
        let parties = vec![
            blocking(&block_user, &author, &reader, &answered),
            delivering(&fan_out, tweet),
        ];
        let (me, them) = (reader.id, author.id);
        let contested = move |_, text: &str, _| {
            asks_key(text, &["home_timeline", "hidden"], me)
                || asks_table(text, &["Query"], "followers", them)
                || asks_table(text, &["TransactWriteItems"], "relations", them)
        };
        let no_ghost = async |race: &Race<'_, Value>| {
            if answered.load(Ordering::SeqCst) {
                let page = world.read(&reader).await;
                assert!(!shows(&page, &author), "a ghost after{}", race.trace());
                assert!(shows(&page, &other), "too much after{}", race.trace());
            }
        };
        // Boxed, because all of it together is too large for the stack of a test.
        let race = world.watched_race(&reader, &mut interleavings, contested, parties, no_ghost);
        let outcome = Box::pin(race).await;
        if let Some(answer) = outcome.answers.first() {
            expect_status(answer, 204);
        }
        if !answered.load(Ordering::SeqCst) {
            continue;
        }
        // Also without what the block itself hides.
        let ended = world.stores.relations();
        let ended = ended.remove(Relation::Block, author.id, reader.id).await;
        assert!(ended.expect("the table answers"));
        let key = format!("excluded:{{{}}}", reader.id);
        let _: u64 = world.stores.redis(redis::cmd("DEL").arg(key)).await;
        let page = world.read(&reader).await;
        assert!(!shows(&page, &author), "a ghost after it was undone");
    }
    report("a block and a fan-out", &interleavings, 10);
}
