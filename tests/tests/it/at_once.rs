//! Small authors are delivered before their POST is answered. Nothing depends on it.

use std::time::Duration;

use roost_tests::{
    Cache, LocalCloud, PATIENCE, SENTINEL, User, entry, eventually, expect_equal, throughout,
};

/// Three followers make a small author, four do not.
const THREE: [(&str, &str); 1] = [("SYNC_FAN_OUT_FOLLOWERS", "3")];

/// Longer than the stream takes to bring a tweet to the fan-out.
const A_WHILE: Duration = Duration::from_secs(3);

/// How often this tweet is in each of these readers' lists, in the order of the readers.
async fn copies(cache: &Cache, readers: &[&User], tweet: u64, author: &User) -> Vec<usize> {
    let ids: Vec<u64> = readers.iter().map(|reader| reader.id).collect();
    let lists = cache.home_timelines(&ids).await;
    let wanted = entry(tweet, author.id);
    let in_list = |list: &Vec<Vec<u8>>| list.iter().filter(|it| **it == wanted).count();
    lists.iter().map(in_list).collect()
}

/// Who delivered this tweet, once somebody has.
async fn delivered_by(cloud: &LocalCloud, tweet: u64) -> Vec<String> {
    eventually(PATIENCE, "it is delivered", || async {
        let deliveries = cloud.deliveries(tweet).into_iter();
        let by: Vec<String> = deliveries.map(|it| it.function).collect();
        if by.is_empty() {
            Err("by nobody".to_owned())
        } else {
            Ok(by)
        }
    })
    .await
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
    // On a machine that is busy for a second, a tweet is left to the stream, and the next one is tried.
    let tweet = eventually(PATIENCE, "a tweet is there with its answer", || async {
        let tweet = author.post("for three").await.id;
        let there = copies(&cache, &readers, tweet, &author).await;
        expect_equal("copies", there, vec![1; 3])?;
        let newest = first.newest().await.data;
        expect_equal("newest", newest[0].id, tweet)?;
        let by = delivered_by(&cloud, tweet).await;
        expect_equal("delivered by", by, vec!["post-tweet".to_owned()])?;
        Ok(tweet)
    })
    .await;
    throughout(A_WHILE, "the stream pushes it to nobody again", || async {
        let there = copies(&cache, &readers, tweet, &author).await;
        expect_equal("copies", there, vec![1; 3])
    })
    .await;
    assert_eq!(delivered_by(&cloud, tweet).await, ["post-tweet"]);
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
    let by = delivered_by(&cloud, tweet).await;
    assert!(by.iter().all(|it| it == "fan-out-tweets"), "{by:?}");
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
