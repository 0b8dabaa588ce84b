//! Reading upwards from an id, so that a client that was away can close the gap to what it has seen without a hole.

use std::collections::HashSet;

use futures_util::{StreamExt, stream};
use tokio::time::Instant;

use super::hydrate::Hydrated;
use super::opening::CachedList;
use super::{BUDGET, HomePage, HomeTimelines, Trouble, Troubles, present};
use crate::Result;
use crate::domain::timeline::{ALL_KNOWN, Source, merge};
use crate::domain::{Entry, Origin, PageSize, TweetId, UserId};
use crate::stores::timelines::Extent;
use crate::stores::tweets::NEWEST;

/// Queries under way at once.
const CONCURRENCY: usize = 32;

impl HomeTimelines {
    /// The page right above an id: the oldest tweets that are newer, newest first like on any page.
    pub async fn page_above(&self, me: UserId, since: TweetId, size: PageSize) -> HomePage {
        let (mut hydrated, mut troubles, mut above) =
            (Hydrated::default(), Troubles::default(), since);
        let mut more = false;
        while hydrated.tweets.len() < size.get() {
            let wanted = size.get() - hydrated.tweets.len();
            let entries = self.entries_above(me, above, wanted, &mut troubles).await;
            let Some(last) = entries.last() else { break };
            (above, more) = (last.tweet, entries.len() == wanted);
            self.hydrate(&entries, &mut hydrated, &mut troubles).await;
        }
        present::page_above(hydrated, more, troubles)
    }

    /// The oldest entries above an id, oldest first. From the cache if it reaches that deep, else from the tables.
    async fn entries_above(
        &self,
        me: UserId,
        above: TweetId,
        count: usize,
        troubles: &mut Troubles,
    ) -> Vec<Entry> {
        let covers = |source: &Source| source.floor.get() <= above.get() + 1;
        let opening = self.open(me, Extent::Whole, troubles).await;
        let deadline = Instant::now() + BUDGET;
        let celebs = self.celebs(me, opening.celebs, deadline, troubles).await;
        let mut sources = Vec::new();
        let (mut read, mut unread) = (HashSet::new(), Vec::new());
        for (author, source) in self.feeds.newest(&celebs, NEWEST).await {
            match source {
                Ok(source) if covers(&source) => {
                    read.insert(author);
                    sources.push(source);
                }
                _ => unread.push(author),
            }
        }
        match opening.list {
            CachedList::Read(list) if covers(&list) => sources.push(list),
            _ => {
                let following = self.following.all(me).await;
                unread = troubles
                    .note(Trouble::TablesUnavailable, following)
                    .unwrap_or(unread);
                unread.retain(|author| !read.contains(author));
                unread.push(me);
            }
        }
        sources.extend(self.tables_above(unread, above, count, troubles).await);
        let sources: Vec<Source> = sources.iter().map(|source| source.above(above)).collect();
        let merged = merge(sources.iter(), NEWEST, &opening.hidden);
        merged.entries.into_iter().rev().take(count).collect()
    }

    /// Of each author the oldest entries above an id, from the table.
    async fn tables_above(
        &self,
        authors: Vec<UserId>,
        above: TweetId,
        count: usize,
        troubles: &mut Troubles,
    ) -> Vec<Source> {
        let queries: Vec<_> = authors
            .into_iter()
            .map(|author| self.tweets.oldest_entries(author, above, count))
            .collect();
        let answers: Vec<Result<Vec<Entry>>> = stream::iter(queries)
            .buffer_unordered(CONCURRENCY)
            .collect()
            .await;
        let sources = answers.into_iter().map(|answer| {
            let entries = troubles
                .note(Trouble::TablesUnavailable, answer)
                .unwrap_or_default();
            let floor = ALL_KNOWN;
            Source { entries, floor }.by(Origin::Deep)
        });
        sources.collect()
    }
}
