//! Streams deliver at least once. Here they deliver again on purpose, and nothing is there or counted twice (I2, I4).

use std::time::Duration;

use roost_tests::events::{StreamRecord, caught_tweet_created, table_batch};
use roost_tests::{
    Client, PATIENCE, Tweet, User, eventually, expect_followers, expect_timeline, ids, skip,
    throughout,
};
use serde_json::Value;

/// The records of this tweet on the stream, as the fan-out got them. `None`, after saying that the test is skipped, if
/// functions cannot be invoked with them.
async fn caught(roost: &Client, tweet: &Tweet) -> Option<Value> {
    if roost.target().endpoints.lambda.is_none() {
        skip("it invokes functions, which needs a local cloud");
        return None;
    }
    let caught = eventually(PATIENCE, "the tweet is on tweet-created", || async {
        caught_tweet_created(roost.target(), tweet.id)
            .await
            .ok_or_else(|| "it is not".to_owned())
    });
    Some(caught.await)
}

/// Delivers one record twice. `None`, after saying that the test is skipped, if functions cannot be invoked.
async fn deliver_twice(roost: &Client, function: &str, record: &StreamRecord) -> Option<()> {
    for _ in 0..2 {
        roost.invoke(function, &table_batch(&[record])).await?;
    }
    Some(())
}

/// Ada, and Bob, who follows her and has a list.
async fn given_author_and_follower(roost: &Client) -> [User; 2] {
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    bob.newest().await;
    [ada, bob]
}

#[tokio::test]
async fn a_follow_that_is_delivered_twice_counts_once() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let first = StreamRecord::followed(ada.id, bob.id);
    let second = StreamRecord::followed(eve.id, bob.id);
    let third = StreamRecord::unfollowed(ada.id, bob.id);

    let Some(()) = deliver_twice(&roost, "count-follows", &first).await else {
        return;
    };
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
    let [ada, bob] = given_author_and_follower(&roost).await;
    let tweet = ada.post("once").await;
    bob.eventually_sees(&[tweet.id]).await;

    let again = StreamRecord::tweeted(ada.id, tweet.id);
    let Some(()) = deliver_twice(&roost, "publish-tweets", &again).await else {
        return;
    };

    // Events of one author keep their order: when this one has arrived, so have those before it.
    let marker = ada.post("marker").await;
    bob.eventually_sees(&[marker.id, tweet.id]).await;
    assert_eq!(ids(&bob.walk(1).await), [marker.id, tweet.id]);
    assert_eq!(ids(&ada.walk(1).await), [marker.id, tweet.id]);
}

#[tokio::test]
async fn a_tweet_that_is_fanned_out_twice_shows_once() {
    let roost = Client::shared().await;
    let [ada, bob] = given_author_and_follower(&roost).await;
    let [first, second] = [ada.post("first").await, ada.post("second").await];
    bob.eventually_sees(&[second.id, first.id]).await;

    let Some(event) = caught(&roost, &first).await else {
        return;
    };
    for _ in 0..3 {
        roost.invoke("fan-out-tweets", &event).await;
    }

    for limit in [1, 2, 20] {
        for reader in [&ada, &bob] {
            assert_eq!(
                ids(&reader.walk(limit).await),
                [second.id, first.id],
                "with limit {limit}"
            );
        }
    }
}

#[tokio::test]
async fn a_tweet_that_is_fanned_out_again_after_it_was_deleted_stays_hidden() {
    let roost = Client::shared().await;
    let [ada, bob] = given_author_and_follower(&roost).await;
    let [kept, deleted] = [ada.post("kept").await, ada.post("deleted").await];
    bob.eventually_sees(&[deleted.id, kept.id]).await;
    let Some(created) = caught(&roost, &deleted).await else {
        return;
    };

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
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let tweet = ada.post("hello").await;
    bob.newest().await;
    bob.follow(&ada).await;
    bob.eventually_sees(&[tweet.id]).await;
    bob.unfollow(&ada).await;

    let again = StreamRecord::followed(bob.id, ada.id);
    let Some(()) = deliver_twice(&roost, "apply-follows", &again).await else {
        return;
    };

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
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let tweet = ada.post("hello").await;
    bob.newest().await;
    bob.follow(&ada).await;
    bob.unfollow(&ada).await;
    bob.follow(&ada).await;
    bob.eventually_sees(&[tweet.id]).await;

    let again = StreamRecord::unfollowed(bob.id, ada.id);
    let Some(()) = deliver_twice(&roost, "apply-follows", &again).await else {
        return;
    };

    throughout(Duration::from_secs(1), "the author stays", || async {
        expect_timeline(&bob.newest().await.data, &[tweet.id])
    })
    .await;
}
