//! Small authors are delivered before their POST is answered. Nothing depends on it.

use std::time::Duration;

use roost_tests::{
    Cache, LocalCloud, PATIENCE, SENTINEL, User, entry, eventually, expect_equal, throughout,
};

/// Three followers make a small author, four do not.
const THREE: [(&str, &str); 1] = [("SYNC_FAN_OUT_FOLLOWERS", "3")];

const TWEETS: usize = 10;

/// Longer than the stream takes to bring a tweet to the fan-out.
const A_WHILE: Duration = Duration::from_secs(3);

/// How often each of these tweets is in each of these readers' lists, in the order of the readers.
async fn copies(cache: &Cache, readers: &[&User], tweet: u64, author: &User) -> Vec<usize> {
    let ids: Vec<u64> = readers.iter().map(|reader| reader.id).collect();
    let lists = cache.home_timelines(&ids).await;
    let wanted = entry(tweet, author.id);
    let in_list = |list: &Vec<Vec<u8>>| list.iter().filter(|it| **it == wanted).count();
    lists.iter().map(in_list).collect()
}

#[tokio::test]
async fn followers_have_a_small_authors_tweet_when_the_post_is_answered() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&THREE).await else {
        return;
    };
    let names = ["author", "first", "second", "third"];
    let [author, first, second, third] = cloud.client().sign_up_each(names).await;
    let readers = [&first, &second, &third];
    for reader in readers {
        reader.follow(&author).await;
        reader.newest().await;
    }
    let mut at_once = Vec::new();
    for n in 0..TWEETS {
        let tweet = author.post(&format!("number {n}")).await;
        if copies(&cache, &readers, tweet.id, &author).await == [1, 1, 1] {
            let newest = first.newest().await.data;
            assert_eq!(newest[0].id, tweet.id, "number {n}");
            at_once.push(tweet.id);
        }
    }
    // On a machine that is busy for a second, a tweet is left to the stream.
    assert!(at_once.len() * 5 >= TWEETS * 4, "{} at once", at_once.len());
    // The stream brings all of them, and pushes none again.
    throughout(A_WHILE, "each is in each list once", || async {
        for tweet in &at_once {
            let there = copies(&cache, &readers, *tweet, &author).await;
            expect_equal("copies", there, vec![1, 1, 1])?;
        }
        Ok(())
    })
    .await;
    for tweet in at_once {
        let deliveries = cloud.deliveries(tweet).into_iter();
        let by: Vec<String> = deliveries.map(|it| it.function).collect();
        assert_eq!(by, ["post-tweet"]);
    }
}

#[tokio::test]
async fn more_followers_are_left_to_the_stream() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&THREE).await else {
        return;
    };
    let names = ["author", "first", "second", "third", "fourth"];
    let [author, first, second, third, fourth] = cloud.client().sign_up_each(names).await;
    let readers = [&first, &second, &third, &fourth];
    for reader in readers {
        reader.follow(&author).await;
        reader.newest().await;
    }
    let tweet = author.post("for four").await.id;
    eventually(PATIENCE, "everybody has it", || async {
        expect_equal(
            "copies",
            copies(&cache, &readers, tweet, &author).await,
            vec![1; 4],
        )
    })
    .await;
    let deliveries = eventually(PATIENCE, "it is delivered", || async {
        let found = cloud.deliveries(tweet);
        if found.is_empty() {
            Err("by nobody".to_owned())
        } else {
            Ok(found)
        }
    })
    .await;
    assert!(
        deliveries.iter().all(|it| it.function == "fan-out-tweets"),
        "{deliveries:?}"
    );
}

#[tokio::test]
async fn a_reply_to_somebody_else_is_delivered_to_nobody_and_one_to_oneself_is() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&THREE).await else {
        return;
    };
    let [author, other, reader] = cloud
        .client()
        .sign_up_each(["author", "other", "reader"])
        .await;
    reader.follow(&author).await;
    reader.newest().await;
    let theirs = other.post("a question").await;
    let comment = author.reply(&theirs, "an answer").await;
    let own = author.post("one").await;
    let thread = author.reply(&own, "two").await;
    let expected = [thread.id, own.id].map(|tweet| entry(tweet, author.id).to_vec());
    let expected = [&expected[..], &[SENTINEL.to_vec()]].concat();
    eventually(PATIENCE, "the thread is there, and no comment", || async {
        let lists = cache.home_timelines(&[reader.id]).await;
        expect_equal("list", lists[0].clone(), expected.clone())
    })
    .await;
    assert_eq!(cloud.deliveries(comment.id), []);
}

#[tokio::test]
async fn a_redis_that_hangs_costs_no_tweet() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&THREE).await else {
        return;
    };
    let [author, reader] = cloud.client().sign_up_each(["author", "reader"]).await;
    reader.follow(&author).await;
    reader.newest().await;
    let before = author.post("before").await;
    let stopped = cache.stop_server().await;
    let meanwhile = author.post("meanwhile").await;
    drop(stopped);
    reader.eventually_sees(&[meanwhile.id, before.id]).await;
}
