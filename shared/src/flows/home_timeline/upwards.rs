//! Reading upwards from an id, so that a client that was away can close the gap to what it has seen without a hole.

use std::collections::HashSet;

use futures_util::{StreamExt, stream};
use tokio::time::Instant;

use super::super::rebuild::in_time;
use super::hydrate::Hydrated;
use super::opening::CachedList;
use super::walk::{Candidate, Walk};
use super::{BUDGET, GRACE, HomePage, HomeTimelines, Trouble, Troubles, present};
use crate::domain::repeats::{NEIGHBOURS, older_places};
use crate::domain::timeline::{ALL_KNOWN, Source, merge};
use crate::domain::{Entry, Origin, PageSize, TweetId, UserId};
use crate::stores::timelines::Extent;
use crate::stores::tweets::NEWEST;
use crate::{Error, Result};

/// Queries under way at once.
const CONCURRENCY: usize = 32;

impl HomeTimelines {
    /// The page right above an id: the oldest tweets that are newer, newest first like on any page.
    pub async fn page_above(&self, me: UserId, since: TweetId, size: PageSize) -> HomePage {
        let mut reading = Upwards {
            home: self,
            me,
            deadline: Instant::now() + BUDGET,
            troubles: Troubles::default(),
            queries: 0,
        };
        let (mut hydrated, mut above, mut more) = (Hydrated::default(), since, false);
        let until = reading.deadline + GRACE;
        let mut least = 1;
        while hydrated.tweets.len() < size.get() && Instant::now() < until {
            let wanted = least.max(size.get() - hydrated.tweets.len());
            // A run of repeats is not read a few at a time.
            least = NEIGHBOURS;
            let entries = reading.entries_above(above, wanted).await;
            let Some(last) = entries.last() else { break };
            more = entries.len() == wanted;
            let candidates = reading.candidates(&entries, above).await;
            above = last.tweet;
            self.hydrate(me, &candidates, &mut hydrated, until, &mut reading.troubles)
                .await;
        }
        if hydrated.tweets.len() > size.get() {
            // The page is next to what was seen, and the rest is on the next one.
            hydrated.tweets.truncate(size.get());
            more = true;
        } else if more && hydrated.tweets.len() < size.get() {
            let late = Err::<(), _>(Error::GaveUp("reading a page upwards in time"));
            reading.troubles.note(Trouble::TablesUnavailable, late);
        }
        present::page_above(hydrated, more, reading.queries, reading.troubles)
    }
}

/// One such read.
struct Upwards<'a> {
    home: &'a HomeTimelines,
    me: UserId,
    /// When to stop reading and answer.
    deadline: Instant,
    troubles: Troubles,
    /// Queries that reading the tables has cost so far.
    queries: usize,
}

impl Upwards<'_> {
    /// Says of these entries, oldest first and the first ones above an id, which may be repeats.
    async fn candidates(&mut self, entries: &[Entry], above: TweetId) -> Vec<Candidate> {
        if !entries.iter().any(|entry| entry.is_repost()) {
            return entries.iter().copied().map(Candidate::certain).collect();
        }
        // Whether a repost is a repeat depends on what lies below it.
        let from = TweetId::new(above.get() + 1);
        let mut walk = Walk::begin(self.home, self.me, Some(from), NEIGHBOURS, self.deadline).await;
        let below = walk.peek(NEIGHBOURS).await;
        self.queries += walk.queries;
        self.troubles.extend(walk.troubles);
        let places = entries.iter().enumerate().map(|(index, entry)| {
            let below = entries[..index].iter().rev().chain(&below);
            let older: Vec<Entry> = older_places(*entry, below).collect();
            Candidate {
                entry: *entry,
                older,
            }
        });
        let is_possible = |it: &Candidate| it.older.iter().all(|place| place.is_repost());
        let mut candidates: Vec<Candidate> = places.filter(is_possible).collect();
        if walk.filter.may_lack_blockers() {
            let (home, until) = (self.home, self.deadline + GRACE);
            let apart = home
                .apart(self.me, &candidates, until, &mut self.troubles)
                .await;
            candidates.retain(|it| !apart.contains(&it.entry.shown().author));
        }
        candidates
    }

    /// The oldest entries above an id, oldest first. From the cache if it reaches that deep, else from the tables.
    async fn entries_above(&mut self, above: TweetId, count: usize) -> Vec<Entry> {
        let (home, me, deadline) = (self.home, self.me, self.deadline);
        let covers = |source: &Source| source.floor.get() <= above.get() + 1;
        let opening = home
            .open(me, Extent::Whole, deadline, &mut self.troubles)
            .await;
        let Some(filter) = opening.filter else {
            return Vec::new();
        };
        let mut celebs = home
            .celebs(me, opening.celebs, deadline, &mut self.troubles)
            .await;
        celebs.retain(|author| !filter.hides(*author));
        let mut sources = Vec::new();
        let (mut read, mut unread) = (HashSet::new(), Vec::new());
        let feeds = home.feeds.newest(&celebs, NEWEST, above, deadline);
        for (author, source) in feeds.await {
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
                let following = in_time(deadline, home.following.all(me)).await;
                unread = self
                    .troubles
                    .note(Trouble::TablesUnavailable, following)
                    .unwrap_or(unread);
                unread.retain(|author| !read.contains(author) && !filter.hides(*author));
                unread.push(me);
            }
        }
        sources.extend(self.tables_above(unread, above, count).await);
        let sources: Vec<Source> = sources.iter().map(|source| source.above(above)).collect();
        let merged = merge(sources.iter(), NEWEST, &|entry| filter.shows(entry));
        merged.entries.into_iter().rev().take(count).collect()
    }

    /// Of each author the oldest entries above an id, from the table.
    async fn tables_above(
        &mut self,
        authors: Vec<UserId>,
        above: TweetId,
        count: usize,
    ) -> Vec<Source> {
        let (tweets, deadline) = (&self.home.tweets, self.deadline);
        self.queries += authors.len();
        let queries: Vec<_> = authors
            .into_iter()
            .map(|author| in_time(deadline, tweets.oldest_entries(author, above, count)))
            .collect();
        let answers: Vec<Result<Vec<Entry>>> = stream::iter(queries)
            .buffer_unordered(CONCURRENCY)
            .collect()
            .await;
        let sources = answers.into_iter().map(|answer| {
            let entries = self
                .troubles
                .note(Trouble::TablesUnavailable, answer)
                .unwrap_or_default();
            let floor = ALL_KNOWN;
            Source { entries, floor }.by(Origin::Deep)
        });
        sources.collect()
    }
}
