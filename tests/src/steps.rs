//! Steps that several tests share: what is given, and what must be so in the end.

use std::time::Duration;

use crate::cache::Cache;
use crate::client::Client;
use crate::local_cloud::LocalCloud;
use crate::page::{expect_timeline, ids};
use crate::patience::{PATIENCE, eventually, expect_equal, in_parallel};
use crate::tables::Tables;
use crate::user::User;

impl LocalCloud {
    /// Like [`Self::for_test`], with its tables and its Redis.
    pub async fn with_stores(parameters: &[(&str, &str)]) -> Option<(Self, Tables, Cache)> {
        let cloud = Self::for_test(parameters).await?;
        let tables = cloud.client().tables().await?;
        let cache = cloud.client().cache().await?;
        Some((cloud, tables, cache))
    }
}

/// A reader with a list, an author whom they follow, and the author's tweets, newest first. The list has all of them.
pub async fn given_reader(roost: &Client, tweets: usize) -> (User, User, Vec<u64>) {
    let [reader, author] = roost.sign_up_each(["reader", "author"]).await;
    reader.follow(&author).await;
    reader.newest().await;
    let posted = ids(&author.post_many(tweets, 1).await);
    reader.eventually_sees(&posted).await;
    (reader, author, posted)
}

/// Waits until everybody's timeline is what the tables say, read in pages of `limit`.
pub async fn expect_oracle<'a>(
    tables: &Tables,
    people: impl IntoIterator<Item = &'a User>,
    limit: usize,
    within: Duration,
) {
    let checks = people.into_iter().map(|user| async move {
        let what = format!("the timeline of {} is the oracle's", user.handle);
        eventually(within, &what, || async {
            let shown = user.try_walk(limit).await?;
            // Asked each time: reposts leave the tables a moment after their original.
            let expected = tables.home_timeline_of(user.id).await;
            expect_timeline(&shown, &expected)
        })
        .await;
    });
    in_parallel(6, checks).await;
}

pub async fn expect_followers(user: &User, count: i64) {
    eventually(PATIENCE, "followers are counted", || async {
        expect_equal("follower_count", user.profile().await.follower_count, count)
    })
    .await;
}

/// Waits until the author has this tier, the profile shows it, and every follower has been told.
pub async fn expect_tier(tables: &Tables, author: &User, tier: &str, epoch: u64, within: Duration) {
    eventually(within, &format!("the tier settles as {tier}"), || async {
        let found = tables.tier_of(author.id).await;
        let found = found.as_ref().map(|tier| (tier.name.as_str(), tier.epoch));
        expect_equal("tier and epoch", found, Some((tier, epoch)))?;
        let shown = author.profile().await.is_celebrity;
        expect_equal("is_celebrity", shown, tier == "celebrity")
    })
    .await;
}
