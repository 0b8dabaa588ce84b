//! Reading the feeds of celebrities: from the memory of the sandbox, from Redis, from the table.
//!
//! A celebrity's feed must not become the one key that everybody asks for, so its newest tweets stay in memory for
//! about a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};

use tokio::time::Instant as Deadline;

use super::rebuild::in_time;
use crate::Result;
use crate::domain::timeline::{ALL_KNOWN, Source};
use crate::domain::{Origin, TweetId, UserId};
use crate::platform::{Moment, Roost, metrics};
use crate::stores::feeds::MOST;
use crate::stores::tweets::{NEWEST, OLDEST};
use crate::stores::{Feeds, FillToken, Tweets};

/// Tweets read of one feed at a time.
const HEAD: usize = 50;
const DEEPER: usize = 100;

const FRESH: Duration = Duration::from_secs(1);

/// The memory of one sandbox is emptied here, so that it stays bounded. An entry is about a kilobyte.
const MOST_REMEMBERED: usize = 10_000;

/// Queries under way at once.
const CONCURRENCY: usize = 32;

/// How often a feed is read anew because its author posted meanwhile.
const ATTEMPTS: usize = 5;

#[derive(Clone)]
pub struct FeedReader {
    feeds: Feeds,
    tweets: Tweets,
    remembered: Arc<Mutex<Memory>>,
}

impl FeedReader {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            feeds: Feeds::new(roost)?,
            tweets: Tweets::new(roost)?,
            remembered: Arc::default(),
        })
    }

    /// Of each author the newest tweets below an id. Those that are older than `down_to` need not be among them. At most one
    /// round trip to Redis if the feeds are there. One feed that cannot be read in time does not fail the others.
    pub async fn newest(
        &self,
        authors: &[UserId],
        below: TweetId,
        down_to: TweetId,
        deadline: Deadline,
    ) -> HashMap<UserId, Result<Source>> {
        let recalled = self.remembered().recall(authors, below, down_to);
        let recalled = recalled.into_iter();
        let mut sources: HashMap<_, _> = recalled
            .map(|(author, source)| (author, Ok(source)))
            .collect();
        let unknown = authors.iter().filter(|it| !sources.contains_key(it));
        let unknown: Vec<UserId> = unknown.copied().collect();
        if unknown.is_empty() {
            return sources;
        }
        if below < NEWEST {
            let from: Vec<_> = unknown.iter().map(|author| (*author, below)).collect();
            let cached = self.feeds.below(&from, HEAD).await;
            sources.extend(self.or_table(&from, HEAD, cached, deadline).await);
            return sources;
        }
        let asked = Moment::now();
        let cached = self.feeds.newest(&unknown, down_to, HEAD).await;
        let from: Vec<_> = unknown.iter().map(|author| (*author, NEWEST)).collect();
        let read = self.or_table(&from, HEAD, cached, deadline).await;
        let known = read.iter();
        let known =
            known.filter_map(|(author, source)| Some((*author, source.as_ref().ok()?.clone())));
        self.remembered().remember(known.collect(), down_to, asked);
        sources.extend(read);
        sources
    }

    /// The next tweets of feeds that were read down to these ids.
    pub async fn deeper(
        &self,
        from: &[(UserId, TweetId)],
        deadline: Deadline,
    ) -> HashMap<UserId, Result<Source>> {
        if from.is_empty() {
            return HashMap::new();
        }
        let cached = self.feeds.below(from, DEEPER).await;
        self.or_table(from, DEEPER, cached, deadline).await
    }

    /// What Redis had, and the rest from the table.
    async fn or_table(
        &self,
        from: &[(UserId, TweetId)],
        count: usize,
        cached: Result<Vec<Option<Source>>>,
        deadline: Deadline,
    ) -> HashMap<UserId, Result<Source>> {
        metrics::CELEBRITY_PULLS.add(from.len());
        let cached = cached.unwrap_or_else(|error| {
            tracing::warn!(error = error.chain(), "feeds are read from the table");
            vec![None; from.len()]
        });
        let (mut sources, mut missing) = (HashMap::new(), Vec::new());
        for (&(author, below), cached) in from.iter().zip(cached) {
            match cached {
                Some(source) => {
                    sources.insert(author, Ok(source.by(Origin::Pulled)));
                }
                None => missing.push((author, below)),
            }
        }
        let reads = missing.into_iter().map(|(author, below)| async move {
            let read = self.read_table(author, below, count);
            (author, in_time(deadline, read).await)
        });
        let reads = stream::iter(reads).buffer_unordered(CONCURRENCY);
        sources.extend(reads.collect::<Vec<_>>().await);
        sources
    }

    /// What Redis does not have: a feed that is missing, which is filled on the way, or what lies below all it keeps.
    async fn read_table(&self, author: UserId, below: TweetId, count: usize) -> Result<Source> {
        // If Redis does not answer, there is nothing to fill.
        if below == NEWEST
            && let Ok(Some(token)) = self.feeds.begin_fill(author).await
        {
            return Ok(self.fill(author, token).await?.0.by(Origin::Pulled));
        }
        let entries = self
            .tweets
            .newest_entries(author, OLDEST, below, count)
            .await?;
        let floor = entries
            .last()
            .filter(|_| entries.len() == count)
            .map_or(ALL_KNOWN, |entry| entry.tweet);
        Ok(Source { entries, floor }.by(Origin::Deep))
    }

    /// Reads the author's newest tweets and stores them as the feed. `false` if the feed changed meanwhile.
    async fn fill(&self, author: UserId, token: FillToken) -> Result<(Source, bool)> {
        let mut entries = self
            .tweets
            .newest_entries(author, OLDEST, NEWEST, MOST + 1)
            .await?;
        let all = entries.len() <= MOST;
        entries.truncate(MOST);
        // An author without tweets gets no feed: perhaps the account was deleted, and would leave it behind.
        let filled =
            entries.is_empty() || self.feeds.finish_fill(author, token, &entries, all).await?;
        let floor = if all {
            ALL_KNOWN
        } else {
            entries.last().map_or(ALL_KNOWN, |entry| entry.tweet)
        };
        Ok((Source { entries, floor }, filled))
    }

    /// Makes the feed anew from the table, for an author who is about to be pulled. What is there may be old.
    pub async fn refill(&self, author: UserId) -> Result<()> {
        for _ in 0..ATTEMPTS {
            let token = self.feeds.seize_fill(author).await?;
            if self.fill(author, token).await?.1 {
                return Ok(());
            }
        }
        // They post faster than we read. A missing feed is filled by its readers.
        self.feeds.forget([author]).await
    }

    fn remembered(&self) -> MutexGuard<'_, Memory> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newest tweets of some feeds.
#[derive(Default)]
struct Memory(HashMap<UserId, Remembered>);

struct Remembered {
    read_at: Moment,
    /// How deep was asked. The source may end above it, if the author posts a lot.
    down_to: TweetId,
    source: Source,
}

impl Memory {
    fn recall(
        &self,
        authors: &[UserId],
        below: TweetId,
        down_to: TweetId,
    ) -> Vec<(UserId, Source)> {
        let fresh = authors.iter().filter_map(|author| {
            let known = self.0.get(author)?;
            let floor = known.source.floor;
            let is_deep = floor <= down_to || known.down_to <= down_to;
            let useful = known.read_at.elapsed() < FRESH && floor < below && is_deep;
            useful.then(|| (*author, known.source.clone()))
        });
        fresh.collect()
    }

    fn remember(&mut self, sources: Vec<(UserId, Source)>, down_to: TweetId, read_at: Moment) {
        if self.0.len() + sources.len() > MOST_REMEMBERED {
            self.0.clear();
        }
        let sources = sources.into_iter().map(|(author, source)| {
            let known = Remembered {
                read_at,
                down_to,
                source,
            };
            (author, known)
        });
        self.0.extend(sources);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Entry;

    const AUTHOR: UserId = UserId::new(7);

    fn recalled(memory: &Memory, down_to: u64) -> Vec<(UserId, Source)> {
        memory.recall(&[AUTHOR], NEWEST, TweetId::new(down_to))
    }

    #[test]
    fn what_was_read_before_a_freeze_is_not_trusted_after_it() {
        let mut memory = Memory::default();
        let read = vec![(AUTHOR, Source::end())];

        memory.remember(read.clone(), ALL_KNOWN, Moment::now());
        assert_eq!(recalled(&memory, 0), read);

        let frozen = Moment::now().before_a_freeze_of(FRESH);
        memory.remember(read, ALL_KNOWN, frozen);
        assert_eq!(recalled(&memory, 0), []);
    }

    #[test]
    fn a_reader_who_goes_deeper_than_the_last_one_asks_again() {
        let mut memory = Memory::default();
        let read = |floor| {
            let floor = TweetId::new(floor);
            let entries = vec![Entry::new(floor, AUTHOR)];
            vec![(AUTHOR, Source { entries, floor })]
        };

        memory.remember(read(40), TweetId::new(50), Moment::now());
        for (down_to, known) in [(60, read(40)), (40, read(40)), (39, vec![])] {
            assert_eq!(recalled(&memory, down_to), known, "{down_to}");
        }

        // Asked for more than one read gives: asking again would give the same.
        memory.remember(read(40), TweetId::new(10), Moment::now());
        for (down_to, known) in [(60, read(40)), (10, read(40)), (9, vec![])] {
            assert_eq!(recalled(&memory, down_to), known, "{down_to}");
        }
    }
}
