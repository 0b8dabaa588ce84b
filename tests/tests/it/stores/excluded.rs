use std::collections::HashSet;

use redis::cmd;
use shared::domain::UserId;
use shared::stores::timelines::Extent;

use super::{Stores, someone};

impl Stores {
    /// What a reader finds.
    async fn excluded_of(&self, user: UserId) -> Option<HashSet<UserId>> {
        let opened = self.timelines().open(user, Extent::Newest(1)).await;
        opened.expect("Redis answers").excluded
    }

    async fn fill_excluded(&self, user: UserId, authors: &HashSet<UserId>) {
        let token = self.excluded().begin_fill(user).await;
        let token = token.expect("Redis answers").expect("nobody else does it");
        let filled = self.excluded().finish_fill(user, token, authors).await;
        filled.expect("Redis answers");
    }
}

#[tokio::test]
async fn nobody_excluded_is_something_else_than_not_known() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, other) = (someone(), someone());
    assert_eq!(stores.excluded_of(user).await, None);
    stores.fill_excluded(user, &HashSet::new()).await;
    assert_eq!(stores.excluded_of(user).await, Some(HashSet::new()));

    let many: HashSet<UserId> = (0..5_000).map(|_| someone()).collect();
    stores.fill_excluded(other, &many).await;
    assert_eq!(stores.excluded_of(other).await, Some(many));
    let seconds: i64 = stores
        .redis(cmd("TTL").arg(format!("excluded:{{{other}}}")))
        .await;
    assert!((1..=24 * 3_600).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn a_fill_that_a_change_has_overtaken_stores_nothing() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (excluded, user) = (stores.excluded(), someone());
    let authors = HashSet::from([someone()]);
    for change_ends_first in [false, true] {
        let token = excluded.begin_fill(user).await.expect("Redis answers");
        let token = token.expect("nobody else does it");
        let change = excluded.begin_change(&[user]).await.expect("Redis answers");
        if change_ends_first {
            excluded.end_change(change).await.expect("Redis answers");
            let filled = excluded.finish_fill(user, token, &authors).await;
            filled.expect("Redis answers");
        } else {
            let filled = excluded.finish_fill(user, token, &authors).await;
            filled.expect("Redis answers");
            excluded.end_change(change).await.expect("Redis answers");
        }
        assert_eq!(stores.excluded_of(user).await, None);
    }
}

#[tokio::test]
async fn nobody_fills_while_the_table_changes() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (excluded, user, authors) = (stores.excluded(), someone(), HashSet::from([someone()]));
    stores.fill_excluded(user, &authors).await;

    let change = excluded.begin_change(&[user]).await.expect("Redis answers");
    assert_eq!(stores.excluded_of(user).await, None, "it may be outdated");
    let token = excluded.begin_fill(user).await.expect("Redis answers");
    assert!(token.is_none(), "the table may change after it was read");

    // The end of another change, which began before, gives no right.
    let later = excluded.begin_change(&[user]).await.expect("Redis answers");
    excluded.end_change(change).await.expect("Redis answers");
    let token = excluded.begin_fill(user).await.expect("Redis answers");
    assert!(token.is_none(), "the later change is under way");

    excluded.end_change(later).await.expect("Redis answers");
    stores.fill_excluded(user, &authors).await;
    assert_eq!(stores.excluded_of(user).await, Some(authors));
}

#[tokio::test]
async fn a_change_that_never_ends_is_over_by_itself() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let user = someone();
    let change = stores.excluded().begin_change(&[user]).await;
    drop(change.expect("Redis answers"));
    let key = format!("excluded_fill:{{{user}}}");
    let milliseconds: i64 = stores.redis(cmd("PTTL").arg(key)).await;
    // Longer than a function behind the API may run.
    assert!((10_001..=15_000).contains(&milliseconds), "{milliseconds}");
}
