//! Somebody is followed or unfollowed while something else happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roost_tests::events::{StreamRecord, table_batch};
use roost_tests::{Function, Interleavings, Party, Race, events};
use serde_json::Value;

use super::{
    Outcome, Person, Posting, World, asks_key, asks_table, delivering, expect_processed,
    expect_status, reading, report, shown_ids, shows,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Follow,
    Unfollow,
}

/// The functions that change an edge: the one that is asked to, and the one that applies it to the follower's list.
pub(super) struct ChangeOfEdge {
    change: Change,
    request: Arc<Function>,
    apply_follows: Arc<Function>,
}

impl ChangeOfEdge {
    pub(super) fn of_party(world: &World, party: usize, change: Change) -> Self {
        let request = match change {
            Change::Follow => "follow-user",
            Change::Unfollow => "unfollow-user",
        };
        Self {
            change,
            request: world.function(party, request),
            apply_follows: world.function(party, "apply-follows"),
        }
    }

    /// The party that makes the request, and then lets the stream's consumer apply it. `answered` becomes true in between.
    pub(super) fn party(
        &self,
        follower: &Person,
        followee: &Person,
        answered: &Arc<AtomicBool>,
    ) -> Party<Value> {
        let (request, apply_follows) = (Arc::clone(&self.request), Arc::clone(&self.apply_follows));
        let answered = Arc::clone(answered);
        let path = format!("/v1/users/{}/follow", followee.id);
        let (follower_id, followee_id) = (follower.id.get(), followee.id.get());
        let (method, record) = match self.change {
            Change::Follow => ("POST", StreamRecord::followed(follower_id, followee_id)),
            Change::Unfollow => ("DELETE", StreamRecord::unfollowed(follower_id, followee_id)),
        };
        let event = events::http_request(method, &path, &follower.subject);
        Box::new(move || {
            expect_status(&request.invoke(event), 204);
            answered.store(true, Ordering::SeqCst);
            let answer = apply_follows.invoke(table_batch(&[&record]));
            expect_processed(&answer);
            answer
        })
    }
}

#[tokio::test]
async fn an_unfollow_and_a_fan_out_in_every_order_leave_no_ghost() {
    let Some(world) = World::new().await else {
        return;
    };
    let unfollow = ChangeOfEdge::of_party(&world, 0, Change::Unfollow);
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
        let parties = vec![
            unfollow.party(&reader, &author, &gone),
            delivering(&fan_out, tweet),
        ];
        let (me, them) = (reader.id, author.id);
        let contested = move |_, text: &str, _| {
            asks_key(text, &["home_timeline", "hidden"], me)
                || asks_table(text, &["Query", "TransactWriteItems"], "followers", them)
        };
        let no_ghost = async |race: &Race<'_, Value>| {
            if gone.load(Ordering::SeqCst) {
                let page = world.read(&reader).await;
                assert!(!shows(&page, &author), "a ghost after{}", race.trace());
                assert!(
                    shows(&page, &other),
                    "too much hidden after{}",
                    race.trace()
                );
            }
        };
        world
            .watched_race(&reader, &mut interleavings, contested, parties, no_ghost)
            .await;
    }
    report("an unfollow and a fan-out", &interleavings, 10);
}

#[tokio::test]
async fn a_follow_and_a_post_in_every_order_lose_and_double_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let follow = ChangeOfEdge::of_party(&world, 0, Change::Follow);
    let posting = Posting::of_party(&world, 1);
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let (reader, author) = (world.sign_up().await, world.sign_up().await);
        world.tweets(&author, 2, 60_000).await;
        world.tweets(&reader, 1, 60_000).await;
        world.read(&reader).await;
        let followed = Arc::new(AtomicBool::new(false));
        let parties = vec![
            follow.party(&reader, &author, &followed),
            posting.party(&author),
        ];
        let (me, them) = (reader.id, author.id);
        let contested = move |_, text: &str, _| {
            asks_key(text, &["home_timeline"], me)
                || asks_table(text, &["Query", "TransactWriteItems"], "followers", them)
                || asks_table(text, &["Query", "PutItem"], "tweets", them)
        };
        world
            .race(&reader, &mut interleavings, contested, parties)
            .await;
    }
    report("a follow and a post", &interleavings, 10);
}

/// The reader follows or unfollows somebody while a rebuild reads the people whom they follow.
async fn expect_right_when_a_rebuild_meets(change: Change) {
    let Some(world) = World::new().await else {
        return;
    };
    let home_timeline = world.function(0, "home-timeline");
    let change_of_edge = ChangeOfEdge::of_party(&world, 1, change);
    let author = world.sign_up().await;
    world.tweets(&author, 2, 60_000).await;
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let reader = world.sign_up().await;
        let own = world.tweets(&reader, 1, 60_500).await.remove(0);
        if change == Change::Unfollow {
            world.follow(&reader, &author).await;
        }
        let answered = Arc::new(AtomicBool::new(false));
        let parties = vec![
            reading(&home_timeline, &reader),
            change_of_edge.party(&reader, &author, &answered),
        ];
        let (me, them) = (reader.id, author.id);
        let contested = move |_, text: &str, _| {
            // A rebuild cannot go wrong by commands that only look at the list, or whether there is one.
            let looks = ["LRANGE", "LINDEX", "SET", "DEL"];
            asks_key(text, &["home_timeline", "hidden"], me)
                && !looks.iter().any(|command| text.starts_with(command))
                && !text.starts_with("SMEMBERS")
                || asks_table(text, &["Query"], "following", me)
                || asks_table(text, &["TransactWriteItems"], "following", them)
        };
        let Outcome { trace, answers } = world
            .race(&reader, &mut interleavings, contested, parties)
            .await;
        if let Some(page) = answers.first() {
            let shown = shown_ids(page);
            assert!(shown.contains(&own.tweet.get()), "{shown:?} in{trace}");
        }
    }
    report(&format!("a rebuild and {change:?}"), &interleavings, 15);
}

#[tokio::test]
async fn a_rebuild_and_a_follow_in_every_order_lose_and_double_nothing() {
    expect_right_when_a_rebuild_meets(Change::Follow).await;
}

#[tokio::test]
async fn a_rebuild_and_an_unfollow_in_every_order_leave_no_ghost() {
    expect_right_when_a_rebuild_meets(Change::Unfollow).await;
}
