use redis::cmd;
use shared::domain::{Entry, UserId};
use shared::platform::now_millis;
use shared::stores::hidden::{Doubt, HiddenAuthors, MOST, ON_ITS_WAY_MS};
use shared::stores::timelines::Extent;

use super::{Stores, assert_same, home_timeline, someone, sorted, tweet_at, tweets_of};

fn key(user: UserId) -> String {
    format!("hidden:{{{user}}}")
}

impl Stores {
    async fn hidden_authors(&self, user: UserId) -> HiddenAuthors {
        let opened = self.timelines().open(user, Extent::Newest(1)).await;
        opened.expect("Redis answers").hidden
    }

    /// The authors alone, sorted.
    async fn hidden_ids(&self, user: UserId) -> Vec<UserId> {
        let hidden = self.hidden_authors(user).await.authors;
        let mut authors: Vec<_> = hidden.into_iter().collect();
        authors.sort_unstable();
        authors
    }

    /// Moves everything in the set back in time.
    async fn age_hidden(&self, user: UserId, by_ms: u64) {
        let mut read = cmd("ZRANGE");
        read.arg(key(user)).arg(0).arg(-1).arg("WITHSCORES");
        let members: Vec<(Vec<u8>, f64)> = self.redis(&read).await;
        for (member, score) in members {
            let by = -score.signum() * by_ms as f64;
            let mut add = cmd("ZINCRBY");
            let _: f64 = self.redis(add.arg(key(user)).arg(by).arg(member)).await;
        }
    }
}

#[tokio::test]
async fn authors_are_hidden_until_they_are_shown_again() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, other, hidden) = (someone(), someone(), stores.hidden());
    let (ada, bob) = (someone(), someone());
    for author in [ada, bob, ada] {
        hidden.hide(user, author).await.expect("Redis answers");
    }
    assert_eq!(stores.hidden_ids(user).await, [ada.min(bob), ada.max(bob)]);
    assert_eq!(stores.hidden_ids(other).await, []);

    hidden.unhide(user, ada).await.expect("Redis answers");
    assert_eq!(stores.hidden_ids(user).await, [bob]);
    hidden.unhide(user, bob).await.expect("Redis answers");
    assert_eq!(stores.hidden_ids(user).await, []);
}

#[tokio::test]
async fn an_author_is_forgotten_with_all_that_came_late_and_not_earlier() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, hidden, timelines) = (someone(), stores.hidden(), stores.timelines());
    let (old, young, kept) = (someone(), someone(), tweets_of(someone(), 30, 60_000));
    stores.given_list(user, &kept, true).await;
    hidden
        .begin_doubt(user, false)
        .await
        .expect("Redis answers");
    hidden.hide(user, old).await.expect("Redis answers");
    stores.age_hidden(user, ON_ITS_WAY_MS + 1_000).await;
    hidden.hide(user, young).await.expect("Redis answers");
    let now = now_millis();
    let late: Vec<Entry> = [old, young]
        .into_iter()
        .enumerate()
        .map(|(n, author)| Entry::new(tweet_at(now, n as u64), author))
        .collect();
    for entry in &late {
        let delivered = timelines.deliver(*entry, &[user], now).await;
        delivered.expect("a delivery");
    }
    assert_eq!(stores.hidden_authors(user).await.over, [old]);

    // Somebody else may name an author who is not over; that does nothing.
    let forgotten = hidden.forget(user, &[old, young, kept[0].author]).await;

    forgotten.expect("Redis answers");
    assert_eq!(stores.hidden_ids(user).await, [young]);
    let mut left = stores.list(user).await;
    left.pop();
    assert_same(&left, &sorted(&[&kept, &late[1..]]));
}

#[tokio::test]
async fn more_hidden_authors_than_can_be_remembered_put_everything_in_doubt() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, hidden) = (someone(), stores.hidden());
    hidden
        .begin_doubt(user, false)
        .await
        .expect("Redis answers");
    stores.age_hidden(user, 2 * ON_ITS_WAY_MS).await;
    let Doubt::Due(score) = stores.hidden_authors(user).await.doubt else {
        panic!("a check is due");
    };
    hidden.end_doubt(user, score).await.expect("Redis answers");
    assert_eq!(stores.hidden_authors(user).await.doubt, Doubt::None);

    for _ in 0..MOST + 10 {
        hidden.hide(user, someone()).await.expect("Redis answers");
        let found = stores.hidden_authors(user).await;
        assert!(found.authors.len() < MOST, "{}", found.authors.len());
        let all_known = found.doubt == Doubt::None;
        assert!(
            all_known || found.doubt == Doubt::EachRead,
            "{:?}",
            found.doubt
        );
    }

    assert_eq!(stores.hidden_authors(user).await.doubt, Doubt::EachRead);
    // A check that began before does not end this doubt.
    hidden.end_doubt(user, score).await.expect("Redis answers");
    assert_eq!(stores.hidden_authors(user).await.doubt, Doubt::EachRead);
}

#[tokio::test]
async fn nothing_of_a_hidden_author_is_merged_or_inserted() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, author, timelines) = (someone(), someone(), stores.timelines());
    let (kept, gone) = (
        tweets_of(someone(), 30, 60_000),
        tweets_of(author, 30, 60_500),
    );
    stores.given_list(user, &kept, true).await;
    let hidden = stores.hidden().hide(user, author).await;
    hidden.expect("Redis answers");
    let before = stores.list(user).await;

    timelines.backfill(user, &gone).await.expect("a backfill");
    assert_same(&stores.list(user).await, &before);
    let inserted = timelines.insert(gone[0], &[user]).await;
    assert_eq!(inserted.expect("Redis answers"), 0);
    assert_same(&stores.list(user).await, &before);

    let mut delete = cmd("DEL");
    stores.redis::<()>(delete.arg(home_timeline(user))).await;
    stores
        .given_list(user, &sorted(&[&kept, &gone]), true)
        .await;
    assert_same(&stores.list(user).await, &before);
}

#[tokio::test]
async fn a_set_that_no_reader_relies_on_is_gone_when_nothing_is_on_its_way() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let user = someone();
    let hidden = stores.hidden().hide(user, someone()).await;
    hidden.expect("Redis answers");

    let mut ttl = cmd("PTTL");
    let ttl: u64 = stores.redis(ttl.arg(key(user))).await;
    assert!((1..=ON_ITS_WAY_MS).contains(&ttl), "{ttl} ms");
}
