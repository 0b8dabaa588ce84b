//! The ranked page: the stages of any page, with the best of a window first instead of the newest.
//!
//! A score needs the tweet's counts, so the order comes after the hydration here. [`RankedCursor`] has the rules of the walk.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::super::affinity::{AffinityFinder, FoundAffinities};
use super::super::rebuild::in_time;
use super::hydrate::Hydrated;
use super::present::{self, Reason};
use super::walk::Walk;
use super::{BUDGET, HomePage, HomeTimelines};
use crate::Result;
use crate::domain::rank::{Formula, Scored};
use crate::domain::ranked_walk::{Left, MOST_PLACES, WINDOW_PAGES};
use crate::domain::timeline::ALL_KNOWN;
use crate::domain::{ListedTweet, PageSize, RankedCursor, TweetId, UserId};
use crate::platform::{Roost, metrics, now_millis};

/// How long a page waits for the reader's affinities. Without them, every author counts as unknown.
const AFFINITY_LATE: Duration = Duration::from_millis(500);

/// So many places below the first window are looked through for what the reader may have missed.
const GAP: usize = 200;

/// How pages are ranked here.
pub struct Ranking {
    affinities: AffinityFinder,
    formula: Formula,
    /// The reader may have missed something after so many milliseconds.
    missed_after_ms: u64,
    /// And is shown so much of it.
    most_missed: usize,
}

/// One ranked read: who, when, and what is known of the reader.
struct Reading<'a> {
    ranking: &'a Ranking,
    me: UserId,
    now_millis: u64,
    affinities: FoundAffinities,
}

type Item = Scored<ListedTweet>;

impl Ranking {
    pub fn new(roost: &Roost) -> Result<Self> {
        let (missed_after_ms, most_missed) = roost.config.missed_posts()?;
        Ok(Self {
            affinities: AffinityFinder::new(roost)?,
            formula: roost.config.formula()?,
            missed_after_ms,
            most_missed,
        })
    }
}

impl HomeTimelines {
    /// The page at a cursor, or the first one.
    pub async fn ranked_page(
        &self,
        ranking: &Ranking,
        me: UserId,
        cursor: Option<RankedCursor>,
        size: PageSize,
    ) -> HomePage {
        let late = Instant::now() + AFFINITY_LATE;
        let ((mut walk, mut hydrated), found) = tokio::join!(
            self.window(me, cursor.as_ref(), size.get()),
            in_time(late, ranking.affinities.find(me))
        );
        let affinity_late = found.is_err();
        let reading = Reading {
            ranking,
            me,
            now_millis: now_millis(),
            affinities: found.unwrap_or_else(|error| {
                tracing::warn!(error = error.chain(), "page ranked without affinities");
                FoundAffinities::default()
            }),
        };
        let found = std::mem::take(&mut hydrated.tweets);
        metrics::RANKED_CANDIDATES.add(found.len());
        let mut candidates = reading.score(found);

        let is_first = cursor.is_none();
        let mut place = cursor.unwrap_or_else(|| {
            let newest = candidates.first().map_or(0, |it| it.place.tweet.get());
            RankedCursor::start(TweetId::new(newest + 1))
        });
        if walk.is_late() {
            // The window ends where the reading did.
            place.floor = None;
        }
        let mut more_below = walk.has_more();
        if place.floor.is_none() {
            let window = WINDOW_PAGES * size.get();
            more_below |= candidates.len() > window;
            candidates.truncate(window);
        }
        let mut missed = Vec::new();
        if is_first && reading.may_have_missed(walk.last_read) {
            let beyond = self.gap(&mut walk, &mut hydrated).await;
            missed = reading.missed(&mut candidates, beyond, walk.last_read, size.get());
            metrics::MISSED_POSTS.add(missed.len());
        }
        let reasons = missed.iter().map(|it| (it.place.tweet, Reason::Missed));
        let reasons = reasons.collect();
        let left = Left {
            candidates,
            more_below,
        };
        let (page, next) = place.page(missed, left, size.get());
        let ranked = present::Ranked {
            page,
            reasons,
            next: next.map(|next| next.to_text(me)),
            affinity_late,
            queries: reading.affinities.queries,
        };
        present::ranked_page(ranked, hydrated, walk)
    }

    /// What stands in the cursor's window and was not shown yet. May be some more than a window holds.
    async fn window(
        &self,
        me: UserId,
        cursor: Option<&RankedCursor>,
        size: usize,
    ) -> (Walk<'_>, Hydrated) {
        let deadline = Instant::now() + BUDGET;
        let below = cursor.map(|cursor| cursor.below);
        let floor = cursor.and_then(|cursor| cursor.floor);
        let most = floor.map_or(WINDOW_PAGES * size, |_| MOST_PLACES);
        let mut walk = Walk::begin(self, me, below, most + GAP, deadline).await;
        let mut hydrated = Hydrated::default();
        while hydrated.tweets.len() < most && !walk.is_late() {
            let wanted = most - hydrated.tweets.len();
            let mut candidates = walk.take_down_to(floor.unwrap_or(ALL_KNOWN), wanted).await;
            if candidates.is_empty() {
                break;
            }
            candidates
                .retain(|it| cursor.is_none_or(|cursor| !cursor.shown.contains(&it.entry.tweet)));
            self.add(&mut walk, candidates, &mut hydrated).await;
        }
        (walk, hydrated)
    }

    /// What lies below the first window and above what the reader has read, as far as it is known without reading on.
    async fn gap(&self, walk: &mut Walk<'_>, hydrated: &mut Hydrated) -> Vec<ListedTweet> {
        let mut candidates = walk.known_candidates(GAP);
        candidates.retain(|it| it.entry.tweet > walk.last_read);
        self.add(walk, candidates, hydrated).await;
        std::mem::take(&mut hydrated.tweets)
    }
}

impl Reading<'_> {
    fn score(&self, tweets: Vec<ListedTweet>) -> Vec<Item> {
        let formula = &self.ranking.formula;
        let score = |item: ListedTweet| {
            let (tweet, place) = (&item.seen.tweet, item.place);
            let affinity = self.affinities.affinities.to(tweet.author_id);
            Scored {
                score: formula.score(tweet, place, affinity, self.now_millis),
                place,
                item,
            }
        };
        tweets.into_iter().map(score).collect()
    }

    fn may_have_missed(&self, last_read: TweetId) -> bool {
        let away_ms = self.now_millis.saturating_sub(last_read.millis());
        last_read > ALL_KNOWN && away_ms >= self.ranking.missed_after_ms
    }

    /// Takes the best out of what was posted since the reader was here: in the window, or below it. What is old anyway is
    /// not judged by its age.
    fn missed(
        &self,
        window: &mut Vec<Item>,
        beyond: Vec<ListedTweet>,
        last_read: TweetId,
        size: usize,
    ) -> Vec<Item> {
        let unseen = |it: &Item| {
            let seen = &it.item.seen;
            it.place.tweet > last_read
                && it.place.author != self.me
                && seen.tweet.author_id != self.me
                && !seen.liked
                && !seen.reposted
        };
        let better = |a: &Item, b: &Item| {
            let worth = |it: &Item| self.ranking.formula.worth(&it.score);
            let by_worth = worth(b).total_cmp(&worth(a));
            by_worth.then_with(|| b.place.tweet.cmp(&a.place.tweet))
        };
        let beyond = self.score(beyond);
        let mut gap: Vec<&Item> = window
            .iter()
            .chain(&beyond)
            .filter(|it| unseen(it))
            .collect();
        gap.sort_by(|a, b| better(a, b));
        let (mut places, mut tweets) = (HashSet::new(), HashSet::new());
        for it in gap {
            // One place of a tweet is enough.
            if places.len() < self.ranking.most_missed.min(size)
                && tweets.insert(it.place.shown().tweet)
            {
                places.insert(it.place.tweet);
            }
        }
        let is_missed = |it: &Item| places.contains(&it.place.tweet);
        let mut missed: Vec<Item> = window.extract_if(.., |it| is_missed(it)).collect();
        missed.extend(beyond.into_iter().filter(is_missed));
        missed.sort_by(better);
        missed
    }
}
