//! What a home timeline has to be, worked out from the tables by brute force: no cache, no tiers, no cleverness.
//!
//! The audit compares served pages with it, and so do the tests.

use std::collections::HashSet;

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::Result;
use crate::domain::repeats::{NEIGHBOURS, without_repeats};
use crate::domain::{Entry, Reaction, Relation, TweetId, UserId};
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

    /// The newest `count` tweets and reposts of somebody and of everybody they follow, without those whom they muted or who
    /// are on either side of a block with them, by whomever they are reposted; without repeats of one tweet; and without
    /// tweets that they have hidden. Newest first.
    pub async fn home_timeline(&self, user: UserId, count: usize) -> Result<Vec<Entry>> {
        let mut excluded = self.relations.excluded(user).await?;
        let many_blockers = excluded.len() as u64 >= Relation::MOST;
        let mut authors = self.following.all(user).await?;
        authors.retain(|author| !excluded.contains(author));
        authors.push(user);
        let hidden = self.hidden(user).await?;
        let mut enough = count.saturating_add(hidden.len() + NEIGHBOURS);
        loop {
            let (mut entries, all) = self.newest(&authors, enough).await?;
            if many_blockers {
                let others = entries.iter().map(|entry| entry.shown().author).collect();
                excluded.extend(self.relations.apart(user, &others).await?);
            }
            entries.retain(|entry| !excluded.contains(&entry.shown().author));
            let certain = if all {
                entries.len()
            } else {
                // What lies below decides which of the last ones are repeats.
                entries.len().saturating_sub(NEIGHBOURS)
            };
            let lowest = entries.get(certain).map(|entry| entry.tweet);
            let mut shown = without_repeats(&entries);
            shown.retain(|entry| lowest.is_none_or(|lowest| entry.tweet > lowest));
            shown.retain(|entry| !hidden.contains(&entry.shown().tweet));
            // Reposts leave the table a moment after their original.
            let reposted = shown.iter().filter(|entry| entry.is_repost());
            let reposted: Vec<Entry> = reposted.map(|entry| entry.shown()).collect();
            let originals = self.tweets.get_many(&reposted).await?;
            let originals: HashSet<TweetId> = originals.iter().map(|tweet| tweet.id).collect();
            shown.retain(|it| !it.is_repost() || originals.contains(&it.shown().tweet));
            if all || shown.len() >= count {
                shown.truncate(count);
                return Ok(shown);
            }
            enough = enough.saturating_mul(2);
        }
    }

    /// The newest entries of these authors, newest first, as far down as none is missing, and whether that is all. Of each
    /// author at most `limit` are read.
    async fn newest(&self, authors: &[UserId], limit: usize) -> Result<(Vec<Entry>, bool)> {
        let queries: Vec<_> = authors
            .iter()
            .map(|author| self.tweets.newest_entries(*author, OLDEST, NEWEST, limit))
            .collect();
        let found: Vec<Vec<Entry>> = stream::iter(queries)
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await?;
        let cut = found.iter().filter(|entries| entries.len() >= limit);
        let floor = cut.filter_map(|entries| entries.last()).max().copied();
        let mut entries = found.concat();
        entries.retain(|entry| floor.is_none_or(|floor| entry.tweet >= floor.tweet));
        entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.tweet));
        Ok((entries, floor.is_none()))
    }

    async fn hidden(&self, user: UserId) -> Result<HashSet<TweetId>> {
        let hides = self.reactions.newest(user, Reaction::Hide, usize::MAX);
        let standing = hides.await?.into_iter().filter(|hide| hide.stands);
        Ok(standing.map(|hide| hide.tweet).collect())
    }
}
