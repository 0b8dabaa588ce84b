//! Streams deliver at least once. Here they deliver again on purpose.

use std::time::Duration;

use roost_tests::events::{StreamRecord, caught_tweet_created, table_batch};
use roost_tests::{
    Client, PATIENCE, Tweet, User, eventually, expect_equal, expect_timeline, ids, throughout,
};
use serde_json::Value;

async fn expect_followers(user: &User, count: i64) {
    eventually(PATIENCE, "the count", || async {
        expect_equal("follower_count", user.profile().await.follower_count, count)
    })
    .await;
}

async fn settled(reader: &User, expected: &[u64]) {
    eventually(PATIENCE, "the timeline is complete", || async {
        expect_timeline(&reader.try_walk(100).await?, expected)
    })
    .await;
}

/// The records of this tweet on the stream, as the fan-out got them.
async fn caught(roost: &Client, tweet: &Tweet) -> Value {
    eventually(PATIENCE, "the tweet is on tweet-created", || async {
        caught_tweet_created(roost.target(), tweet.id)
            .await
            .ok_or_else(|| "it is not".to_owned())
    })
    .await
}

#[tokio::test]
async fn a_follow_that_is_delivered_twice_counts_once() {
    let roost = Client::shared().await;
    let (ada, bob, eve) = (
        roost.sign_up("ada").await,
        roost.sign_up("bob").await,
        roost.sign_up("eve").await,
    );
    let first = StreamRecord::followed(ada.id, bob.id);
    let second = StreamRecord::followed(eve.id, bob.id);
    let third = StreamRecord::unfollowed(ada.id, bob.id);

    for _ in 0..2 {
        let Some(()) = roost.invoke("count-follows", &table_batch(&[&first])).await else {
            return;
        };
    }
    expect_followers(&bob, 1).await;

    // A retried batch is not always cut where it was the first time.
    for batch in [
        vec![&first, &second],
        vec![&second],
        vec![&first, &second, &third],
    ] {
        roost.invoke("count-follows", &table_batch(&batch)).await;
    }
    expect_followers(&bob, 1).await;
    roost
        .invoke("count-follows", &table_batch(&[&first, &third]))
        .await;
    roost.invoke("count-follows", &table_batch(&[&third])).await;
    expect_followers(&bob, 1).await;
    assert_eq!(
        (
            ada.profile().await.following_count,
            eve.profile().await.following_count
        ),
        (0, 1)
    );
}

#[tokio::test]
async fn a_tweet_that_is_published_twice_shows_once() {
    let roost = Client::shared().await;
    let (ada, bob) = (roost.sign_up("ada").await, roost.sign_up("bob").await);
    bob.follow(&ada).await;
    bob.newest().await;
    let tweet = ada.post("once").await;
    settled(&bob, &[tweet.id]).await;

    let batch = table_batch(&[&StreamRecord::tweeted(ada.id, tweet.id)]);
    for _ in 0..2 {
        let Some(()) = roost.invoke("publish-tweets", &batch).await else {
            return;
        };
    }

    // Events of one author keep their order: when this one has arrived, so have those before it.
    let marker = ada.post("marker").await;
    settled(&bob, &[marker.id, tweet.id]).await;
    assert_eq!(ids(&bob.walk(1).await), [marker.id, tweet.id]);
    assert_eq!(ids(&ada.walk(1).await), [marker.id, tweet.id]);
}

#[tokio::test]
async fn a_tweet_that_is_fanned_out_twice_shows_once() {
    let roost = Client::shared().await;
    let (ada, bob) = (roost.sign_up("ada").await, roost.sign_up("bob").await);
    bob.follow(&ada).await;
    bob.newest().await;
    let [first, second] = [ada.post("first").await, ada.post("second").await];
    settled(&bob, &[second.id, first.id]).await;
    if roost.target().endpoints.lambda.is_none() {
        return roost_tests::skip("it invokes functions, which needs a local cloud");
    }

    let event = caught(&roost, &first).await;
    for _ in 0..3 {
        roost.invoke("fan-out-tweets", &event).await;
    }

    for limit in [1, 2, 20] {
        assert_eq!(
            ids(&bob.walk(limit).await),
            [second.id, first.id],
            "with limit {limit}"
        );
        assert_eq!(
            ids(&ada.walk(limit).await),
            [second.id, first.id],
            "with limit {limit}"
        );
    }
}

#[tokio::test]
async fn a_tweet_that_is_fanned_out_again_after_it_was_deleted_stays_hidden() {
    let roost = Client::shared().await;
    let (ada, bob) = (roost.sign_up("ada").await, roost.sign_up("bob").await);
    bob.follow(&ada).await;
    bob.newest().await;
    let [kept, deleted] = [ada.post("kept").await, ada.post("deleted").await];
    settled(&bob, &[deleted.id, kept.id]).await;
    if roost.target().endpoints.lambda.is_none() {
        return roost_tests::skip("it invokes functions, which needs a local cloud");
    }
    let created = caught(&roost, &deleted).await;

    ada.delete(&deleted).await;
    roost.invoke("fan-out-tweets", &created).await;

    for reader in [&ada, &bob] {
        throughout(
            Duration::from_millis(500),
            "the deleted tweet stays hidden",
            || async { expect_timeline(&reader.newest().await.data, &[kept.id]) },
        )
        .await;
    }
}

#[tokio::test]
async fn a_follow_that_is_delivered_again_after_an_unfollow_brings_nothing_back() {
    let roost = Client::shared().await;
    let (ada, bob) = (roost.sign_up("ada").await, roost.sign_up("bob").await);
    let tweet = ada.post("hello").await;
    bob.newest().await;
    bob.follow(&ada).await;
    settled(&bob, &[tweet.id]).await;
    bob.unfollow(&ada).await;

    let batch = table_batch(&[&StreamRecord::followed(bob.id, ada.id)]);
    for _ in 0..2 {
        let Some(()) = roost.invoke("apply-follows", &batch).await else {
            return;
        };
    }

    throughout(
        Duration::from_secs(1),
        "the author stays hidden",
        || async { expect_timeline(&bob.newest().await.data, &[]) },
    )
    .await;
}

#[tokio::test]
async fn an_unfollow_that_is_delivered_again_after_a_new_follow_takes_nothing_away() {
    let roost = Client::shared().await;
    let (ada, bob) = (roost.sign_up("ada").await, roost.sign_up("bob").await);
    let tweet = ada.post("hello").await;
    bob.newest().await;
    bob.follow(&ada).await;
    bob.unfollow(&ada).await;
    bob.follow(&ada).await;
    settled(&bob, &[tweet.id]).await;

    let batch = table_batch(&[&StreamRecord::unfollowed(bob.id, ada.id)]);
    for _ in 0..2 {
        let Some(()) = roost.invoke("apply-follows", &batch).await else {
            return;
        };
    }

    throughout(Duration::from_secs(1), "the author stays", || async {
        expect_timeline(&bob.newest().await.data, &[tweet.id])
    })
    .await;
}
