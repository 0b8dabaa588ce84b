use shared::domain::timeline::{ALL_KNOWN, Source};
use shared::domain::{Entry, TweetId, UserId};
use shared::platform::now_millis;
use shared::stores::feeds::{LEAST, MOST};
use shared::stores::tweets::NEWEST;

use super::{Stores, assert_same, someone, tweet_at, tweets_of};

async fn read(stores: &Stores, author: UserId, below: TweetId, count: usize) -> Option<Source> {
    if below == NEWEST {
        return read_down_to(stores, author, ALL_KNOWN, count).await;
    }
    let read = stores.feeds().below(&[(author, below)], count).await;
    read.expect("Redis answers").remove(0)
}

async fn read_down_to(
    stores: &Stores,
    author: UserId,
    down_to: TweetId,
    count: usize,
) -> Option<Source> {
    let read = stores.feeds().newest(&[author], down_to, count).await;
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
async fn a_feed_is_read_no_deeper_than_asked_for() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let author = someone();
    let entries = tweets_of(author, 30, 60_000);
    let at = |n: usize| entries[n].tweet;
    let just_above = |n: usize| TweetId::first_at(at(n).millis() + 1);
    let from = |id: TweetId| TweetId::first_at(id.millis());
    assert_eq!(read_down_to(&stores, author, at(4), 50).await, None);
    given_feed(&stores, author, &entries, true).await;
    // Down to which id, how many at the most; how many are read, and from where upwards none is missing.
    for (down_to, count, expected, floor) in [
        (at(4), 50, 5, from(at(4))),
        (just_above(4), 50, 4, just_above(4)),
        // Nothing is new. The feed is there.
        (just_above(0), 50, 0, just_above(0)),
        // There are more than may be read, or exactly as many.
        (at(20), 10, 10, at(9)),
        (at(9), 10, 10, at(9)),
        // Everything.
        (ALL_KNOWN, 50, 30, ALL_KNOWN),
    ] {
        let source = read_down_to(&stores, author, down_to, count).await;
        let source = source.expect("a feed");
        assert_same(&source.entries, &entries[..expected]);
        assert_eq!(source.floor, floor);
    }
}

#[tokio::test]
async fn a_feed_that_would_not_reach_deep_enough_is_dropped() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let entries = |author| tweets_of(author, LEAST as u64 + 10, 60_000);
    for (all, removed, is_left) in [(false, 10, true), (false, 11, false), (true, 11, true)] {
        let author = someone();
        let entries = entries(author);
        given_feed(&stores, author, &entries, all).await;
        for entry in &entries[..removed] {
            stores.feeds().remove(*entry).await.expect("Redis answers");
        }
        let source = read_down_to(&stores, author, entries[20].tweet, 50).await;
        assert_eq!(source.is_some(), is_left, "{removed} removed, all: {all}");
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
