use std::collections::BTreeSet;

use redis::cmd;
use shared::domain::{DisplayName, Entry, ProfileChange, Tweet, TweetText, UserId};
use shared::platform::now_millis;
use shared::stores::Cards;
use shared::stores::cards::Lookup;
use shared::stores::users::UserRow;

use super::{Stores, someone, tweet_at};

fn tweet() -> Tweet {
    let text = TweetText::parse("hello").expect("a text");
    Tweet::new(
        tweet_at(now_millis(), fastrand::u64(..1 << 22)),
        someone(),
        text,
    )
}

fn entry(tweet: &Tweet) -> Entry {
    Entry::new(tweet.id, tweet.author_id)
}

/// What the cache says of one tweet.
async fn lookup(stores: &Stores, entry: Entry) -> Lookup {
    let found = stores.cards().fetch(&[entry], &[], &BTreeSet::new()).await;
    found.expect("Redis answers").tweets.remove(0)
}

#[tokio::test]
async fn a_tweet_is_found_under_its_author_only() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let tweet = tweet();
    assert!(matches!(
        lookup(&stores, entry(&tweet)).await,
        Lookup::Unknown
    ));
    let filled = stores
        .cards()
        .fill_tweets(std::slice::from_ref(&tweet))
        .await;
    filled.expect("Redis answers");

    let Lookup::Found(found) = lookup(&stores, entry(&tweet)).await else {
        panic!("a cached tweet is not found");
    };
    assert_eq!(found, tweet);
    let forged = Entry::new(tweet.id, someone());
    assert!(matches!(lookup(&stores, forged).await, Lookup::Unknown));
}

#[tokio::test]
async fn a_tombstone_by_the_author_hides_the_tweet_and_a_late_fill_does_not_bring_it_back() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let cards = stores.cards();
    for cached_before in [true, false] {
        let tweet = tweet();
        if cached_before {
            let filled = cards.fill_tweets(std::slice::from_ref(&tweet)).await;
            filled.expect("Redis answers");
        }

        cards.bury(entry(&tweet)).await.expect("Redis answers");
        assert!(matches!(
            lookup(&stores, entry(&tweet)).await,
            Lookup::Deleted
        ));

        let filled = cards.fill_tweets(std::slice::from_ref(&tweet)).await;
        filled.expect("Redis answers");
        assert!(matches!(
            lookup(&stores, entry(&tweet)).await,
            Lookup::Deleted
        ));
    }
}

#[tokio::test]
async fn a_tombstone_by_somebody_else_hides_nothing() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let cards = stores.cards();
    let tweet = tweet();
    let filled = cards.fill_tweets(std::slice::from_ref(&tweet)).await;
    filled.expect("Redis answers");
    let buried = cards.bury(Entry::new(tweet.id, someone())).await;
    buried.expect("Redis answers");
    // Unknown: the table is asked, and has it.
    assert!(!matches!(
        lookup(&stores, entry(&tweet)).await,
        Lookup::Deleted
    ));
}

/// Caches the cards of these rows, as a reader does that has just read them.
async fn fill(cards: &Cards, rows: &[UserRow]) {
    let ids: Vec<UserId> = rows.iter().map(UserRow::id).collect();
    let fills = cards.begin_fill(&ids).await.expect("Redis answers");
    let filled = cards.fill_users(rows, &fills).await;
    filled.expect("Redis answers");
}

/// The name that pages show of a user, as far as Redis knows.
async fn shown_name(cards: &Cards, id: UserId) -> Option<String> {
    let found = cards.fetch(&[], &[], &BTreeSet::from([id])).await;
    let users = found.expect("Redis answers").users;
    users.get(&id).map(|user| user.name.as_str().to_owned())
}

#[tokio::test]
async fn what_was_read_before_a_profile_changed_is_never_cached_after_it() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (cards, users) = (stores.cards(), stores.users());
    for lost in [false, true] {
        let old = stores.sign_up().await;
        let id = old.id();
        fill(&cards, std::slice::from_ref(&old)).await;
        assert_eq!(shown_name(&cards, id).await.as_deref(), Some("Somebody"));

        // While it is about to change, readers ask the table, and cache nothing.
        cards.close(id).await.expect("Redis answers");
        assert_eq!(shown_name(&cards, id).await, None);
        fill(&cards, std::slice::from_ref(&old)).await;
        assert_eq!(shown_name(&cards, id).await, None);

        let slow = cards.begin_fill(&[id]).await.expect("Redis answers");
        let change = ProfileChange {
            name: Some(DisplayName::parse("Changed").expect("a name")),
            ..ProfileChange::default()
        };
        let new = users.change(id, &change).await.expect("the table answers");
        let new = new.expect("a profile");
        cards.forget_users(&[id]).await.expect("Redis answers");
        if lost {
            // Redis loses everything it knows of them.
            let key = |name| format!("{name}:{{{id}}}");
            let lost = ["profile", "profile_fill", "user_counts"].map(key);
            let _: i64 = stores.redis(cmd("DEL").arg(&lost)).await;
        }

        let filled = cards.fill_users(&[old], &slow).await;
        filled.expect("Redis answers");
        assert_eq!(shown_name(&cards, id).await, None, "an old card came back");
        fill(&cards, &[new]).await;
        assert_eq!(shown_name(&cards, id).await.as_deref(), Some("Changed"));
    }
}

#[tokio::test]
async fn nothing_that_guards_a_card_stays_for_good() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let cards = stores.cards();
    let id = someone();
    cards.close(id).await.expect("Redis answers");
    cards.begin_fill(&[id]).await.expect("Redis answers");

    for key in ["profile", "profile_fill"] {
        let seconds: i64 = stores
            .redis(cmd("TTL").arg(format!("{key}:{{{id}}}")))
            .await;
        assert!((1..=30).contains(&seconds), "{key} lives for {seconds} s");
    }
}

#[tokio::test]
async fn older_counts_never_replace_newer_ones() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (cards, counts) = (stores.cards(), stores.user_counts());
    let row = stores.sign_up().await;
    let at = |version: u64, followers: i64| {
        let mut row = row.clone();
        (row.version, row.follower_count) = (version, followers);
        row
    };
    let shown = async || {
        let found = cards.fetch(&[], &[], &BTreeSet::from([row.id()])).await;
        let users = found.expect("Redis answers").users;
        users.get(&row.id()).map(|user| user.follower_count)
    };
    assert_eq!(shown().await, None);

    fill(&cards, &[at(9, 90)]).await;
    assert_eq!(shown().await, Some(90));
    // As numbers, not as texts: 10 is newer than 9.
    counts.set(&[at(10, 100)]).await.expect("Redis answers");
    for late in [at(9, 91), at(2, 20)] {
        counts
            .set(std::slice::from_ref(&late))
            .await
            .expect("Redis answers");
        fill(&cards, &[late]).await;
        assert_eq!(shown().await, Some(100));
    }
    counts.set(&[at(11, 3)]).await.expect("Redis answers");
    assert_eq!(shown().await, Some(3));
}

#[tokio::test]
async fn a_late_fill_does_not_bring_the_card_of_a_deleted_account_back() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (cards, counts) = (stores.cards(), stores.user_counts());
    for cached_before in [true, false] {
        // Somebody reads the row, and is slow to cache it.
        let row = stores.sign_up().await;
        let (id, rows) = (row.id(), [row]);
        if cached_before {
            fill(&cards, &rows).await;
        }
        let slow = cards.begin_fill(&[id]).await.expect("Redis answers");
        cards.bury_user(id).await.expect("Redis answers");

        let filled = cards.fill_users(&rows, &slow).await;
        filled.expect("Redis answers");
        fill(&cards, &rows).await;
        counts.set(&rows).await.expect("Redis answers");

        let found = cards.fetch(&[], &[], &BTreeSet::from([id])).await;
        assert!(found.expect("Redis answers").users.is_empty());
        assert!(counts.tiers(&[id]).await.expect("Redis answers").is_empty());
        let profile: Option<String> = stores
            .redis(cmd("GET").arg(format!("profile:{{{id}}}")))
            .await;
        assert_eq!(
            profile.as_deref(),
            Some("-"),
            "the tombstone is still there"
        );
        // Nothing stays for good.
        for key in ["profile", "user_counts"] {
            let seconds: i64 = stores
                .redis(cmd("TTL").arg(format!("{key}:{{{id}}}")))
                .await;
            assert!((1..=30).contains(&seconds), "{key} lives for {seconds} s");
        }
    }
}
