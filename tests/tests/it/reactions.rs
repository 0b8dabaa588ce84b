//! Likes are counted exactly although the stream repeats itself and functions die, and hidden tweets stay hidden wherever
//! they are read from.

use std::time::{Duration, Instant};

use roost_tests::events;
use roost_tests::{
    LocalCloud, PATIENCE, Tweet, User, eventually, expect_equal, expect_oracle, expect_timeline,
    given_reader, ids, in_parallel, keys,
};
use tokio::sync::Notify;

/// Everybody likes one tweet and takes it back, again and again and all at once, while the function that counts is killed.
/// Gives how many changes there were.
async fn storm(users: usize, changes: usize, kill_after_ms: std::ops::Range<u64>) {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let roost = cloud.client();
    let author = roost.sign_up("star").await;
    let fans = roost.sign_up_many("fan", users).await;
    let tweet = author.post("like me").await;
    let mut random = fastrand::Rng::new();
    println!("seed {}", random.get_seed());
    let toggles: Vec<(usize, bool)> = (0..changes)
        .map(|_| (random.usize(..users), random.bool()))
        .collect();
    // A person does one thing after the other; different people do it at once.
    let mut by_fan: Vec<Vec<bool>> = vec![Vec::new(); users];
    for (fan, likes) in &toggles {
        by_fan[*fan].push(*likes);
    }
    let expected = by_fan
        .iter()
        .filter(|toggles| toggles.last() == Some(&true))
        .count() as u64;

    let stop = Notify::new();
    let started = Instant::now();
    let reacting = async {
        let fans = fans.iter().zip(&by_fan).map(|(fan, toggles)| {
            let tweet = &tweet;
            async move {
                for likes in toggles {
                    if *likes {
                        fan.like(tweet).await;
                    } else {
                        fan.unlike(tweet).await;
                    }
                }
            }
        });
        in_parallel(16, fans).await;
        println!("{changes} changes in {:?}", started.elapsed());
        eventually(PATIENCE * 6, "every like is counted once", || async {
            let found = author.tweet(tweet.id).await.like_count;
            expect_equal("like_count", found, expected)
        })
        .await;
        println!("counted after {:?}", started.elapsed());
        stop.notify_one();
    };
    let victims = ["count-reactions"];
    let (_, killed) = tokio::join!(
        reacting,
        cloud.keep_killing(&victims, kill_after_ms, random.fork(), &stop)
    );
    assert!(killed > 0, "nothing was killed");
    // Nothing comes behind it, neither in the table nor in Redis.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(author.tweet(tweet.id).await.like_count, expected);
    let cached: u64 = cache
        .ask(&["HGET", &keys::stats(tweet.id), "like_count"])
        .await;
    assert_eq!(cached, expected, "{killed} sandboxes were killed");
    assert_eq!(tables.likers_of(tweet.id).await as u64, expected);
    let row_changes = tables.count_changes(author.id, tweet.id).await;
    println!(
        "the tweet's row was changed {row_changes} times for {changes} changes, {killed} killed"
    );
}

#[tokio::test]
async fn a_wrong_count_of_likes_is_put_right() {
    let Some((cloud, tables, _)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let roost = cloud.client();
    let [author, fan] = roost.sign_up_each(["author", "fan"]).await;
    let tweet = author.post("like me").await;
    fan.like(&tweet).await;
    fan.repost(&tweet).await;
    fan.reply(&tweet, "well said").await;
    let counts = async || {
        let tweet = fan.tweet(tweet.id).await;
        (tweet.like_count, tweet.reply_count, tweet.repost_count)
    };
    eventually(PATIENCE, "all is counted", || async {
        expect_equal("counts", counts().await, (1, 1, 1))
    })
    .await;

    tables.miscount_likes(author.id, tweet.id, 12).await;
    roost
        .invoke("reconcile-counts", &events::scheduled())
        .await
        .expect("a local cloud invokes functions");

    assert_eq!(counts().await, (1, 1, 1));
}

#[tokio::test]
async fn likes_are_counted_exactly_although_functions_die() {
    storm(30, 600, 200..700).await;
}

#[tokio::test]
#[ignore = "takes minutes: a hundred thousand changes by a thousand people"]
async fn a_viral_tweet_is_counted_exactly() {
    storm(1_000, 100_000, 500..2_000).await;
}

/// Hides the second newest of the reader's tweets, and checks that it is gone from every kind of page.
async fn hide_one(reader: &User, tweets: &[Tweet]) -> Vec<u64> {
    reader.hide(&tweets[1]).await;
    let mut left = ids(tweets);
    left.remove(1);
    expect_timeline(&reader.newest().await.data, &left).expect("without the hidden one");
    left
}

#[tokio::test]
async fn a_hidden_tweet_stays_hidden_when_redis_forgets() {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let (reader, author, _) = given_reader(cloud.client(), 5).await;
    let tweets = reader.newest().await.data;
    let left = hide_one(&reader, &tweets).await;

    for key in [keys::reacted(reader.id), keys::home_timeline(reader.id)] {
        let _: u64 = cache.ask(&["DEL", &key]).await;
        expect_timeline(&reader.newest().await.data, &left).expect("without the hidden one");
    }
    let _: String = cache.ask(&["FLUSHALL"]).await;
    expect_timeline(&reader.newest().await.data, &left).expect("without the hidden one");
    // Unfollowed and followed again, it comes back as it was.
    reader.unfollow(&author).await;
    reader.follow(&author).await;
    expect_oracle(&tables, [&reader], 2, PATIENCE).await;
    expect_timeline(&reader.walk(2).await, &left).expect("without the hidden one");
}

#[tokio::test]
async fn a_celebritys_hidden_tweet_is_hidden_too() {
    let parameters = [("CELEBRITY_THRESHOLD", "1"), ("TIER_DWELL_SECONDS", "0")];
    let Some((cloud, tables, _)) = LocalCloud::with_stores(&parameters).await else {
        return;
    };
    let (reader, author, older) = given_reader(cloud.client(), 5).await;
    eventually(PATIENCE, "the author is a celebrity", || async {
        expect_equal("is_celebrity", author.profile().await.is_celebrity, true)
    })
    .await;
    let newest = author.post("for millions").await;
    reader
        .eventually_sees(&[vec![newest.id], older].concat())
        .await;

    reader.hide(&newest).await;

    assert!(!reader.newest().await.has(&newest));
    expect_oracle(&tables, [&reader], 2, PATIENCE).await;
    let new = format!("/v1/home_timeline/new?since={}", newest.id - 1);
    assert_eq!(reader.get(&new).await.expect(200).json()["count"], 0);
}

#[tokio::test]
async fn a_page_is_not_taken_for_unchanged_after_a_like_or_a_hide() {
    let Some((cloud, ..)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let (reader, ..) = given_reader(cloud.client(), 3).await;
    let tweets = reader.newest().await.data;
    let tag = async || {
        let answer = reader.get("/v1/home_timeline").await.expect(200);
        let tag = answer.headers["etag"].to_str().expect("a tag").to_owned();
        let again = reader.call(hyper::Method::GET, "/v1/home_timeline");
        again.header("if-none-match", &tag).send().await.expect(304);
        tag
    };
    let mut tags = vec![tag().await];
    reader.like(&tweets[0]).await;
    tags.push(tag().await);
    reader.hide(&tweets[1]).await;
    tags.push(tag().await);
    tags.dedup();
    assert_eq!(tags.len(), 3);
}

#[tokio::test]
async fn likes_of_a_deleted_tweet_leave_nothing_behind() {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let roost = cloud.client();
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let tweet = ada.post("soon gone").await;
    for user in [&ada, &bob, &eve] {
        user.like(&tweet).await;
    }
    bob.hide(&tweet).await;
    eventually(PATIENCE, "likes are counted", || async {
        expect_equal("like_count", ada.tweet(tweet.id).await.like_count, 3)
    })
    .await;

    ada.delete(&tweet).await;

    let words = [tweet.id.to_string()];
    eventually(PATIENCE, "nothing is left in the tables", || async {
        expect_equal("mentions", tables.mentions(&words).await, Vec::new())
    })
    .await;
    let stats: u64 = cache.ask(&["EXISTS", &keys::stats(tweet.id)]).await;
    assert_eq!(stats, 0);
}
