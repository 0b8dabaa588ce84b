//! Reading a timeline out of the tables alone: the newest tweets of many authors, merged as far as they are wanted.
//!
//! Each author is read a few tweets at a time, and only while the merge needs more of them. So the cost is one query per
//! author plus one for every few tweets that are really taken, and the result is exact.

use std::collections::VecDeque;

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::Result;
use crate::domain::{Entry, TweetId, UserId};
use crate::stores::Tweets;
use crate::stores::tweets::OLDEST;

/// Queries under way at once.
const CONCURRENCY: usize = 32;

pub struct TableMerge {
    tweets: Tweets,
    authors: Vec<AuthorTweets>,
    /// Tweets that one query asks for.
    per_query: usize,
    /// Queries made so far.
    queries: usize,
}

/// One author's tweets, as far as they were read.
struct AuthorTweets {
    author: UserId,
    read: VecDeque<Entry>,
    /// The next query goes on below this id; `None` when the author has no more.
    below: Option<TweetId>,
}

impl TableMerge {
    /// Of these authors, everything below an id; `wanted` is how much is likely to be taken.
    pub fn new(
        tweets: Tweets,
        authors: impl IntoIterator<Item = UserId>,
        below: TweetId,
        wanted: usize,
    ) -> Self {
        let unread = |author| AuthorTweets {
            author,
            read: VecDeque::new(),
            below: Some(below),
        };
        let authors: Vec<AuthorTweets> = authors.into_iter().map(unread).collect();
        // Twice an even share, so that most authors are read once.
        let per_query = (2 * wanted / authors.len().max(1)).clamp(5, 200);
        Self {
            tweets,
            authors,
            per_query,
            queries: 0,
        }
    }

    /// The next entries, newest first. Fewer than `count` only at the very end.
    pub async fn take(&mut self, count: usize) -> Result<Vec<Entry>> {
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            self.read_on().await?;
            let newest = self
                .authors
                .iter_mut()
                .filter(|author| !author.read.is_empty())
                .max_by_key(|author| author.read[0].tweet);
            let Some(entry) = newest.and_then(|author| author.read.pop_front()) else {
                break;
            };
            taken.push(entry);
        }
        Ok(taken)
    }

    /// How many queries it has cost so far: one per author, and one more for every few tweets that were taken.
    pub const fn queries(&self) -> usize {
        self.queries
    }

    /// Is there nothing more to take?
    pub fn is_exhausted(&self) -> bool {
        self.authors
            .iter()
            .all(|author| author.read.is_empty() && author.below.is_none())
    }

    /// Reads more of every author whose next tweet is not known.
    async fn read_on(&mut self) -> Result<()> {
        let hungry = self
            .authors
            .iter_mut()
            .filter(|author| author.read.is_empty() && author.below.is_some());
        let reads: Vec<_> = hungry
            .map(|author| author.read_on(&self.tweets, self.per_query))
            .collect();
        self.queries += reads.len();
        stream::iter(reads)
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await
    }
}

impl AuthorTweets {
    async fn read_on(&mut self, tweets: &Tweets, count: usize) -> Result<()> {
        let below = self.below.unwrap_or(OLDEST);
        let entries = tweets
            .newest_entries(self.author, OLDEST, below, count)
            .await?;
        self.below = entries
            .last()
            .filter(|_| entries.len() == count)
            .map(|entry| entry.tweet);
        self.read = entries.into();
        Ok(())
    }
}
