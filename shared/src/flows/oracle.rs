//! What a home timeline has to be, worked out from the tables by brute force: no cache, no tiers, no cleverness.
//!
//! The audit compares served pages with it, and so do the tests.

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::Result;
use crate::domain::{Entry, UserId};
use crate::stores::tweets::{NEWEST, OLDEST};
use crate::stores::{Following, Relations, Tweets};

/// Queries under way at once.
const CONCURRENCY: usize = 8;

/// The newest `count` tweets of somebody and of everybody they follow, without those whom they muted or who are on either side
/// of a block with them. Newest first.
pub async fn home_timeline(
    following: &Following,
    relations: &Relations,
    tweets: &Tweets,
    user: UserId,
    count: usize,
) -> Result<Vec<Entry>> {
    let excluded = relations.excluded(user).await?;
    let mut authors = following.all(user).await?;
    authors.retain(|author| !excluded.contains(author));
    authors.push(user);
    let queries: Vec<_> = authors
        .into_iter()
        .map(|author| tweets.newest_entries(author, OLDEST, NEWEST, count))
        .collect();
    let found: Vec<Vec<Entry>> = stream::iter(queries)
        .buffer_unordered(CONCURRENCY)
        .try_collect()
        .await?;
    let mut entries = found.concat();
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.tweet));
    entries.truncate(count);
    Ok(entries)
}
