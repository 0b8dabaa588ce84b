//! The ranked page: the stages of any page, with the best of a window first instead of the newest.
//!
//! A score needs the tweet's counts, so the order comes after the hydration here. [`WalkCursor`] has the rules of the walk.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::super::affinity::{AffinityFinder, FoundAffinities};
use super::super::rebuild::in_time;
use super::activity::{Activity, Invited, Range};
use super::hydrate::Hydrated;
use super::present::{self, Reason};
use super::walk::Walk;
use super::{BUDGET, HomePage, HomeTimelines};
use crate::Result;
use crate::domain::rank::{Formula, Scored};
use crate::domain::timeline::ALL_KNOWN;
use crate::domain::walk_cursor::{Left, MOST_PLACES};
use crate::domain::{CursorOf, Entry, ListedTweet, Origin, PageSize, TweetId, UserId, WalkCursor};
use crate::platform::{Roost, metrics, now_millis};

/// How long a page waits for the reader's affinities. Without them, every author counts as unknown.
const AFFINITY_LATE: Duration = Duration::from_millis(500);

/// So many guests that are older than the window are remembered. Then no more are invited until the walk has passed them.
const MOST_AHEAD: usize = 40;

/// So many places below the first window are looked through for what the reader may have missed.
const GAP: usize = 200;

/// How pages are ranked here.
pub struct Ranking {
    affinities: AffinityFinder,
    formula: Formula,
    /// A window has so many pages.
    window_pages: usize,
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
            window_pages: roost.config.window_pages()?,
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
        cursor: Option<WalkCursor>,
        size: PageSize,
        activity: Option<&Activity>,
    ) -> HomePage {
        let late = Instant::now() + AFFINITY_LATE;
        let ((mut walk, mut hydrated), found) = tokio::join!(
            self.window(
                me,
                cursor.as_ref(),
                (ranking.window_pages, size.get()),
                activity.is_some()
            ),
            in_time(late, ranking.affinities.find(me))
        );
        let affinity_late = found.is_err();
        let reading = Reading {
            ranking,
            me,
            now_millis: now_millis(),
            affinities: found.unwrap_or_else(|error| {
                tracing::warn!(error = error.chain(), "page ranked without affinities");
                FoundAffinities::late()
            }),
        };
        let found = std::mem::take(&mut hydrated.tweets);
        metrics::RANKED_CANDIDATES.add(found.len());
        let mut candidates = reading.score(found);

        let is_first = cursor.is_none();
        let mut window = cursor.unwrap_or_else(|| {
            // Somebody's clock may be ahead of ours.
            let newest = candidates.first().map_or(0, |it| it.place.tweet.get());
            let now = TweetId::first_at(reading.now_millis + 1);
            WalkCursor::start(now.max(TweetId::new(newest + 1)))
        });
        if walk.is_late() {
            // The window ends where the reading did.
            window.floor = None;
        }
        let mut more_below = walk.has_more();
        if window.floor.is_none() {
            let most = ranking.window_pages * size.get();
            more_below |= candidates.len() > most;
            candidates.truncate(most);
        }
        let mut missed = Vec::new();
        if is_first && reading.may_have_missed(walk.last_read) {
            let beyond = self.gap(&mut walk, &mut hydrated).await;
            missed = reading.missed(&mut candidates, beyond, walk.last_read, size.get());
            metrics::MISSED_POSTS.add(missed.len());
        }
        let mut invited = Invited::default();
        if let Some(activity) = activity {
            let range = guests_of(activity, &window, &candidates, more_below, size.get());
            invited = self.invite(activity, &mut walk, range, &mut hydrated).await;
        }
        let was_missed: HashSet<TweetId> = missed.iter().map(|it| it.place.tweet).collect();
        let left = Left {
            guests: reading.guests(std::mem::take(&mut invited.guests)),
            candidates,
            more_below,
        };
        let (page, mut next) = window.page(missed, left, size.get());
        if page.len() < size.get() && !walk.troubles.is_empty() {
            // Perhaps some of the window could not be read. Nobody is led past it.
            next = None;
        }
        for it in &page {
            let (tweet, place) = (it.item.seen.tweet.id, it.item.place);
            metrics::ACTIVITY_ITEMS.add(usize::from(place.origin == Origin::Activity));
            let done = invited.reasons.remove(&tweet);
            let missed = was_missed.contains(&place.tweet).then_some(Reason::Missed);
            let reason = missed.or(done).map(|reason| (place.tweet, reason));
            hydrated.reasons.extend(reason);
        }
        let ranked = present::Ranked {
            page,
            next: next.map(|next| next.to_text(CursorOf::Ranked, me)),
            affinity_late,
            queries: reading.affinities.queries + invited.queries,
        };
        present::ranked_page(ranked, hydrated, walk)
    }

    /// What stands in the cursor's window and was not shown yet. May be some more than a window holds.
    async fn window(
        &self,
        me: UserId,
        cursor: Option<&WalkCursor>,
        (pages, size): (usize, usize),
        with_activity: bool,
    ) -> (Walk<'_>, Hydrated) {
        let deadline = Instant::now() + BUDGET;
        let below = cursor.map(|cursor| cursor.below);
        let floor = cursor.and_then(|cursor| cursor.floor);
        let most = floor.map_or(pages * size, |_| MOST_PLACES);
        let mut walk = if with_activity {
            Walk::begin_with_all(self, me, below, deadline).await
        } else {
            Walk::begin(self, me, below, most + GAP, deadline).await
        };
        if let Some(cursor) = cursor.filter(|_| with_activity) {
            walk.already_shown.clone_from(&cursor.shown);
        }
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
        if hydrated.tweets.len() < size && walk.is_late() {
            walk.end_early();
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

/// Where the guests of a window may come from.
fn guests_of(
    activity: &Activity,
    window: &WalkCursor,
    candidates: &[Item],
    more_below: bool,
    size: usize,
) -> Range {
    let oldest = candidates.last().map(|it| it.place.tweet);
    let floor = window.floor.or(oldest).filter(|_| more_below);
    let above = floor.unwrap_or(ALL_KNOWN);
    let ahead = window.shown.range(..above).count();
    let most = activity.rule.most(size, candidates.len());
    Range {
        below: window.below,
        above,
        shown: window.shown.clone(),
        most: most.min(MOST_AHEAD.saturating_sub(ahead)),
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

    /// A guest is as new as the deed that brings it, and known by its tweet.
    fn guests(&self, guests: Vec<ListedTweet>) -> Vec<Item> {
        let known = self.score(guests).into_iter().map(|guest| Scored {
            place: Entry::new(guest.item.seen.tweet.id, guest.place.author),
            ..guest
        });
        known.collect()
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
