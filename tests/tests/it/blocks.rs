//! A block: both follows are gone with the answer and cannot come back while it stands, neither of the two is shown
//! anything of the other, and the blocked one cannot read the blocker's tweets.

use std::time::Duration;

use roost_tests::{
    Client, Method, PATIENCE, User, eventually, expect_equal, expect_timeline, given_reader, ids,
    newest_first, throughout,
};
use shared::domain::{Relation, UserId};

use crate::stores::Stores;

async fn expect_strangers(one: &User, other: &User) {
    for (user, stranger) in [(one, other), (other, one)] {
        assert_eq!(user.following(100).await, [], "{} follows", user.handle);
        assert_eq!(user.followers(100).await, [], "{} is followed", user.handle);
        assert!(
            !user.follow_unless_blocked(stranger).await,
            "{} may follow",
            user.handle
        );
    }
}

#[tokio::test]
async fn a_block_ends_both_follows_with_its_answer_and_keeps_them_from_coming_back() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    ada.follow(&bob).await;
    bob.follow(&ada).await;
    let of_ada = ada.post_many(2, 1).await;
    let of_bob = bob.post_many(2, 1).await;
    let both = ids(&newest_first([of_ada.clone(), of_bob.clone()].concat()));
    for user in [&ada, &bob] {
        user.eventually_sees(&both).await;
    }

    // Again is as good as once.
    for _ in 0..2 {
        ada.block(&bob).await;
        expect_timeline(&ada.newest().await.data, &ids(&of_ada)).expect("nothing of bob");
        expect_timeline(&bob.newest().await.data, &ids(&of_bob)).expect("nothing of ada");
        expect_strangers(&ada, &bob).await;
    }
    for user in [&ada, &bob] {
        eventually(PATIENCE, "counts know", || user.expect_counts(0, 0)).await;
    }

    // The blocked one cannot read the blocker. Everybody else can, and the blocker the blocked one.
    let paths = |author: &User, tweet: u64| {
        [
            format!("/v1/users/{}/tweets", author.id),
            format!("/v1/tweets/{tweet}"),
        ]
    };
    for path in paths(&ada, of_ada[0].id) {
        bob.get(&path).await.expect_problem(403);
        eve.get(&path).await.expect(200);
        ada.get(&path).await.expect(200);
    }
    for path in paths(&bob, of_bob[0].id) {
        ada.get(&path).await.expect(200);
    }
    // Unfollowing somebody whom one does not follow is still nothing.
    bob.unfollow(&ada).await;

    ada.unblock(&bob).await;

    expect_timeline(&ada.newest().await.data, &ids(&of_ada)).expect("nothing comes back");
    expect_timeline(&bob.newest().await.data, &ids(&of_bob)).expect("nothing comes back");
    for path in paths(&ada, of_ada[0].id) {
        bob.get(&path).await.expect(200);
    }
    bob.follow(&ada).await;
    bob.eventually_sees(&both).await;
    let next = ada.post("to bob again").await;
    bob.eventually_sees(&[&[next.id], both.as_slice()].concat())
        .await;
}

#[tokio::test]
async fn two_blocks_are_undone_one_by_one() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    ada.block(&bob).await;
    bob.block(&ada).await;
    expect_strangers(&ada, &bob).await;
    ada.unblock(&bob).await;
    expect_strangers(&ada, &bob).await;
    bob.unblock(&ada).await;
    ada.follow(&bob).await;
    bob.follow(&ada).await;
}

#[tokio::test]
async fn a_tweet_on_its_way_does_not_arrive_after_a_block_by_either_of_the_two() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.newest().await;

    for round in 0..6 {
        bob.follow(&ada).await;
        ada.post("on its way").await;
        let (blocker, blocked) = if round % 2 == 0 {
            (&ada, &bob)
        } else {
            (&bob, &ada)
        };
        blocker.block(blocked).await;
        throughout(Duration::from_millis(400), "ada stays away", || async {
            expect_timeline(&bob.newest().await.data, &[])
        })
        .await;
        blocker.unblock(blocked).await;
        // Now only the edge is missing.
        throughout(Duration::from_millis(200), "ada stays away", || async {
            expect_timeline(&bob.newest().await.data, &[])
        })
        .await;
    }
}

#[tokio::test]
async fn a_block_and_follows_at_once_leave_no_edge() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    for round in 0..12 {
        let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
        let blocking = async {
            tokio::time::sleep(Duration::from_millis(round)).await;
            ada.block(&bob).await;
        };
        let ((), to, from) = tokio::join!(
            blocking,
            ada.follow_unless_blocked(&bob),
            bob.follow_unless_blocked(&ada)
        );
        println!("round {round}: followed {to}, {from}");
        for user in [&ada, &bob] {
            assert!(tables.following_of(user.id).await.is_empty());
            assert!(tables.followers_of(user.id).await.is_empty());
        }
        let people = [ada, bob];
        eventually(PATIENCE, "counts are the number of edges", || {
            tables.expect_counted_edges(&people)
        })
        .await;
    }
}

#[tokio::test]
async fn a_block_that_lost_its_sandbox_half_way_is_finished_by_the_stream() {
    let roost = Client::shared().await;
    let (reader, author, posted) = given_reader(&roost, 3).await;
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let [me, other] = [&author, &reader].map(|user| UserId::new(user.id));
    // Everything that the request would do after its transaction is missing.
    let change = stores.excluded().begin_change(&[me, other]).await;
    drop(change.expect("Redis answers"));
    let added = stores
        .relations()
        .add(Relation::Block, me, other, 1, Some(&stores.follows()))
        .await;
    added.expect("the tables answer");

    expect_timeline(&reader.newest().await.data, &[]).expect("nothing of the blocker");
    eventually(PATIENCE, "the counts know", || reader.expect_counts(0, 0)).await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    eventually(PATIENCE, "the list holds nothing of them", || async {
        let lists = cache.home_timelines(&[reader.id]).await;
        let of_author = lists[0]
            .iter()
            .filter(|entry| posted.iter().any(|id| entry[1..8] == id.to_be_bytes()[1..]));
        expect_equal("entries", of_author.count(), 0)
    })
    .await;
    reader
        .call(Method::POST, &format!("/v1/users/{}/follow", author.id))
        .send()
        .await
        .expect_problem(403);
}
