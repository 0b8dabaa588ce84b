//! What a home timeline has to be, worked out from the tables by brute force: no cache, no tiers, no cleverness.
//!
//! The audit compares served pages with it, and so do the tests.

use std::collections::HashSet;

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::Result;
use crate::domain::{Entry, Reaction, TweetId, UserId};
use crate::platform::Roost;
use crate::stores::tweets::{NEWEST, OLDEST};
use crate::stores::{Following, Reactions, Relations, Tweets};

/// Queries under way at once.
const CONCURRENCY: usize = 8;

pub struct Oracle {
    following: Following,
    tweets: Tweets,
    reactions: Reactions,
    relations: Relations,
}

impl Oracle {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            following: Following::new(roost)?,
            tweets: Tweets::new(roost)?,
            reactions: Reactions::new(roost)?,
            relations: Relations::new(roost)?,
        })
    }

    /// The newest `count` tweets of somebody and of everybody they follow, without those whom they muted or who are on
    /// either side of a block with them, and without tweets that they have hidden. Newest first.
    pub async fn home_timeline(&self, user: UserId, count: usize) -> Result<Vec<Entry>> {
        let excluded = self.relations.excluded(user).await?;
        let mut authors = self.following.all(user).await?;
        authors.retain(|author| !excluded.contains(author));
        authors.push(user);
        let hidden = self.hidden(user).await?;
        let enough = count.saturating_add(hidden.len());
        let queries: Vec<_> = authors
            .into_iter()
            .map(|author| self.tweets.newest_entries(author, OLDEST, NEWEST, enough))
            .collect();
        let found: Vec<Vec<Entry>> = stream::iter(queries)
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await?;
        let mut entries = found.concat();
        entries.retain(|entry| !hidden.contains(&entry.tweet));
        entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.tweet));
        entries.truncate(count);
        Ok(entries)
    }

    async fn hidden(&self, user: UserId) -> Result<HashSet<TweetId>> {
        let hides = self.reactions.newest(user, Reaction::Hide, usize::MAX);
        let standing = hides.await?.into_iter().filter(|hide| hide.stands);
        Ok(standing.map(|hide| hide.tweet).collect())
    }
}
