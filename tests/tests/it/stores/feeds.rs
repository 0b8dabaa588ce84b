use shared::domain::timeline::{ALL_KNOWN, Source};
use shared::domain::{Entry, TweetId, UserId};
use shared::platform::now_millis;
use shared::stores::feeds::MOST;
use shared::stores::tweets::NEWEST;

use super::{Stores, assert_same, someone, tweet_at, tweets_of};

async fn read(stores: &Stores, author: UserId, below: TweetId, count: usize) -> Option<Source> {
    let read = stores.feeds().read(&[(author, below)], count).await;
    read.expect("Redis answers").remove(0)
}

/// Gives the author a feed with these tweets; `all` says that there are no others.
async fn given_feed(stores: &Stores, author: UserId, entries: &[Entry], all: bool) {
    let feeds = stores.feeds();
    let token = feeds.begin_fill(author).await.expect("Redis answers");
    let token = token.expect("nobody else fills a new author's feed");
    let filled = feeds.finish_fill(author, token, entries, all).await;
    assert!(filled.expect("Redis answers"));
}

#[tokio::test]
async fn a_feed_keeps_the_newest_800() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    for all in [true, false] {
        let author = someone();
        let entries = tweets_of(author, MOST as u64 + 20, 60_000);
        let (newer, filled) = entries.split_at(20);
        given_feed(&stores, author, filled, all).await;
        for entry in newer.iter().rev() {
            stores.feeds().add(*entry).await.expect("Redis answers");
        }

        let source = read(&stores, author, NEWEST, 2 * MOST)
            .await
            .expect("a feed");

        assert_same(&source.entries, &entries[..MOST]);
        // What fell out of the feed is below the floor.
        assert_eq!(source.floor, entries[MOST - 1].tweet);
    }
}

#[tokio::test]
async fn a_feed_that_holds_everything_says_so() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let author = someone();
    let entries = tweets_of(author, 30, 60_000);
    given_feed(&stores, author, &entries[1..], true).await;
    stores.feeds().add(entries[0]).await.expect("Redis answers");
    stores
        .feeds()
        .remove(entries[7])
        .await
        .expect("Redis answers");

    let source = read(&stores, author, NEWEST, 100).await.expect("a feed");
    assert_eq!(source.floor, ALL_KNOWN);
    assert_same(&source.entries, &[&entries[..7], &entries[8..]].concat());
    let head = read(&stores, author, NEWEST, 5).await.expect("a feed");
    assert_eq!(
        (head.entries.as_slice(), head.floor),
        (&entries[..5], entries[4].tweet)
    );
}

#[tokio::test]
async fn ids_that_differ_in_their_last_bits_are_read_in_order() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (author, millis) = (someone(), now_millis());
    let mut entries: Vec<Entry> = (0..60)
        .map(|n| Entry::new(tweet_at(millis + n / 20, n % 20), author))
        .collect();
    fastrand::shuffle(&mut entries);
    given_feed(&stores, author, &entries[..30], true).await;
    for entry in &entries[30..] {
        stores.feeds().add(*entry).await.expect("Redis answers");
    }
    entries.sort_unstable_by(|a, b| b.cmp(a));

    let source = read(&stores, author, NEWEST, 100).await.expect("a feed");
    assert_same(&source.entries, &entries);
    for n in 0..entries.len() {
        let below = read(&stores, author, entries[n].tweet, 100).await;
        assert_same(&below.expect("a feed").entries, &entries[n + 1..]);
    }
}

#[tokio::test]
async fn a_missing_feed_stays_missing_when_its_author_posts() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let author = someone();
    let entry = tweets_of(author, 1, 0)[0];
    stores.feeds().add(entry).await.expect("Redis answers");
    stores.feeds().remove(entry).await.expect("Redis answers");
    assert_eq!(read(&stores, author, NEWEST, 10).await, None);
}

#[tokio::test]
async fn a_fill_that_was_overtaken_stores_nothing() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let feeds = stores.feeds();
    for overtaken_by in ["a tweet", "a deletion", "another fill", "a demotion"] {
        let author = someone();
        let entries = tweets_of(author, 10, 0);
        let token = feeds.begin_fill(author).await.expect("Redis answers");
        let token = token.expect("the right to fill");
        let second = feeds.begin_fill(author).await.expect("Redis answers");
        assert_eq!(second, None, "two may fill at once");

        let overtaken = match overtaken_by {
            "a tweet" => feeds.add(entries[0]).await,
            "a deletion" => feeds.remove(entries[9]).await,
            "another fill" => feeds.seize_fill(author).await.map(drop),
            _ => feeds.forget([author]).await,
        };
        overtaken.expect("Redis answers");

        let filled = feeds.finish_fill(author, token, &entries[1..], true).await;
        assert!(
            !filled.expect("Redis answers"),
            "overtaken by {overtaken_by}"
        );
        assert_eq!(read(&stores, author, NEWEST, 10).await, None);
    }
}

#[tokio::test]
async fn a_late_tweet_below_all_that_a_feed_keeps_does_not_lower_its_floor() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let author = someone();
    let entries = tweets_of(author, MOST as u64 + 50, 60_000);
    given_feed(&stores, author, &entries[..MOST], false).await;
    let deleted = stores.feeds().remove(entries[0]).await;
    deleted.expect("Redis answers");

    // Delivered again, long after: there is room for it, but not for the 48 in between.
    let late = *entries.last().expect("some");
    stores.feeds().add(late).await.expect("Redis answers");

    let source = read(&stores, author, NEWEST, 2 * MOST)
        .await
        .expect("a feed");
    assert_same(&source.entries, &entries[1..MOST]);
    assert_eq!(source.floor, entries[MOST - 1].tweet);
}
