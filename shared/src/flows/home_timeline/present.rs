//! The last stage: the page that a handler answers with, its entity tag, and how each tweet came there.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

use super::hydrate::Hydrated;
use super::walk::Walk;
use super::{HomeTimelines, Troubles};
use crate::domain::rank::{Score, Scored};
use crate::domain::{Entry, ListedTweet, Origin, Reaction, TweetId, User, UserId};
use crate::stores::reacted::Marks;
use crate::stores::receipts::Receipt;

#[derive(Debug, Default)]
pub struct HomePage {
    /// Newest first, or the best first.
    pub tweets: Vec<ListedTweet>,
    /// The authors and those who reposted, in the order in which they first appear.
    pub users: Vec<User>,
    /// `true` if the client has this page already. Then there is nothing else on it.
    pub unchanged: bool,
    /// `true` if there is something behind the last tweet.
    pub more: bool,
    /// Why something may be missing; empty if nothing is.
    pub troubles: Troubles,
    /// Changes when the page does, except for counts: they change all the time.
    pub tag: String,
    /// `true` if the page reaches what was read before.
    pub caught_up: bool,
    /// Queries that reading below what Redis keeps has cost.
    pub queries: usize,
    /// The cursor of the next page, if it is more than the last place of this one.
    pub next: Option<String>,
    /// Why a tweet is where it is, by its place, if there is more to it than the order.
    pub reasons: HashMap<TweetId, Reason>,
    /// How each entry came here, by its place.
    origins: HashMap<TweetId, Origin>,
    /// What each ranked tweet got, by its place.
    scores: HashMap<TweetId, RankedScore>,
}

/// Why a tweet is where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Reason {
    /// It was posted while the reader was away.
    Missed,
    /// Somebody whom the reader follows likes it.
    Liked(Doers),
    /// Somebody whom the reader follows replied to it.
    Replied(Doers),
    /// Somebody whom the reader follows reposted it.
    Reposted(Doers),
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doers {
    /// The last ones first.
    pub user_ids: Vec<UserId>,
    /// How many more there are.
    pub others: usize,
}

impl Reason {
    /// So many people are named.
    const NAMED: usize = 3;

    /// `None` if nobody did it, or if it is nobody's business.
    pub(super) fn new(reaction: Reaction, people: &[UserId]) -> Option<Self> {
        let named = people.len().min(Self::NAMED);
        let doers = Doers {
            user_ids: people[..named].to_vec(),
            others: people.len() - named,
        };
        match reaction {
            _ if people.is_empty() => None,
            Reaction::Like => Some(Self::Liked(doers)),
            Reaction::Reply => Some(Self::Replied(doers)),
            Reaction::Repost => Some(Self::Reposted(doers)),
            Reaction::Hide => None,
        }
    }

    fn people(&self) -> &[UserId] {
        match self {
            Self::Missed => &[],
            Self::Liked(doers) | Self::Replied(doers) | Self::Reposted(doers) => &doers.user_ids,
        }
    }
}

/// How good a tweet is for the reader.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RankedScore {
    #[serde(flatten)]
    pub score: Score,
    /// `true` if the reader's affinities did not come in time, so that every author counts as unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub affinity_late: bool,
}

/// How a tweet came to the reader's page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Explanation {
    pub via: Origin,
    /// After how many milliseconds it was there: a pulled tweet in its author's feed, a pushed one with the last of all
    /// followers. `None` if that is not known (any more).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible_after_ms: Option<u64>,
    /// On a ranked page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<RankedScore>,
}

/// What there is to say of a ranked page beside its tweets.
pub(super) struct Ranked {
    pub(super) page: Vec<Scored<ListedTweet>>,
    pub(super) next: Option<String>,
    pub(super) affinity_late: bool,
    /// Queries that finding the reader's affinities and the page's guests has cost.
    pub(super) queries: usize,
}

/// What there is to say of a page that the client has.
pub(super) fn unchanged(walk: &Walk<'_>, tag: String) -> HomePage {
    HomePage {
        unchanged: true,
        tag,
        queries: walk.queries,
        ..HomePage::default()
    }
}

/// A page that is read on downwards.
pub(super) fn page_below(
    below: Option<TweetId>,
    size: usize,
    mut hydrated: Hydrated,
    walk: Walk<'_>,
) -> HomePage {
    let (me, last_read) = (walk.me, walk.last_read);
    let found = hydrated.tweets.len();
    let more = found > size || (found == size && walk.has_more());
    hydrated.tweets.truncate(size);
    let oldest = hydrated.tweets.last().map(|oldest| oldest.place.tweet);
    // All of the page must be in its tag, also if some entries above its end show nothing.
    let is_on_page = |entry: &&Entry| !more || oldest.is_none_or(|oldest| entry.tweet >= oldest);
    let on_page: Vec<Entry> = hydrated.alive.iter().filter(is_on_page).copied().collect();
    let tag = tag(me, last_read, &on_page, &hydrated.marks, more);
    HomePage {
        more,
        tag,
        caught_up: reaches(last_read, below, oldest),
        queries: walk.queries,
        ..HomePage::new(hydrated, walk.troubles)
    }
}

/// `true` if the page between these places is the first one that reaches what was read before.
fn reaches(last_read: TweetId, below: Option<TweetId>, oldest: Option<TweetId>) -> bool {
    oldest.is_some_and(|oldest| oldest <= last_read) && below.is_none_or(|below| below > last_read)
}

/// A page that is read on upwards.
pub(super) fn page_above(
    mut hydrated: Hydrated,
    more: bool,
    queries: usize,
    troubles: Troubles,
) -> HomePage {
    hydrated.tweets.reverse();
    HomePage {
        more,
        queries,
        ..HomePage::new(hydrated, troubles)
    }
}

/// A page in the latest order with guests.
pub(super) fn page_with_guests(
    next: Option<String>,
    below: Option<TweetId>,
    queries: usize,
    hydrated: Hydrated,
    walk: Walk<'_>,
) -> HomePage {
    let oldest = hydrated.tweets.last().map(|oldest| oldest.place.tweet);
    HomePage {
        more: next.is_some(),
        next,
        caught_up: reaches(walk.last_read, below, oldest),
        queries: walk.queries + queries,
        ..HomePage::new(hydrated, walk.troubles)
    }
}

/// A page with the best first.
pub(super) fn ranked_page(ranked: Ranked, mut hydrated: Hydrated, walk: Walk<'_>) -> HomePage {
    let affinity_late = ranked.affinity_late;
    let scores = ranked.page.iter().map(|it| {
        let score = it.score;
        let score = RankedScore {
            score,
            affinity_late,
        };
        (it.item.place.tweet, score)
    });
    let scores = scores.collect();
    hydrated.tweets = ranked.page.into_iter().map(|it| it.item).collect();
    HomePage {
        scores,
        more: ranked.next.is_some(),
        next: ranked.next,
        queries: walk.queries + ranked.queries,
        ..HomePage::new(hydrated, walk.troubles)
    }
}

impl HomePage {
    fn new(mut hydrated: Hydrated, troubles: Troubles) -> Self {
        let tweets = hydrated.tweets;
        let people = tweets.iter().flat_map(ListedTweet::people);
        let reasons = hydrated.reasons;
        let doers = tweets.iter().filter_map(|it| reasons.get(&it.place.tweet));
        let people = people.chain(doers.flat_map(Reason::people).copied());
        let users = people.filter_map(|person| hydrated.users.remove(&person));
        let users = users.collect();
        let origins = hydrated
            .alive
            .iter()
            .chain(tweets.iter().map(|it| &it.place));
        let origins = origins.map(|entry| (entry.tweet, entry.origin)).collect();
        Self {
            users,
            reasons,
            origins,
            tweets,
            troubles,
            ..Self::default()
        }
    }
}

/// A weak entity tag: the same for the same tweets of the same reader who likes and has reposted the same of them. `more`
/// says whether the page leads to another one.
pub(super) fn tag(
    me: UserId,
    last_read: TweetId,
    entries: &[Entry],
    marks: &Marks,
    more: bool,
) -> String {
    let mut hasher = DefaultHasher::new();
    (me, last_read, more).hash(&mut hasher);
    for entry in entries {
        let shown = entry.shown().tweet;
        let marks = (
            marks.liked.contains(&shown),
            marks.reposted.contains(&shown),
        );
        (entry.tweet, entry.author, marks).hash(&mut hasher);
    }
    format!("W/\"{:016x}\"", hasher.finish())
}

impl HomeTimelines {
    /// How the tweets of a page came there, in their order.
    pub async fn explain(&self, page: &HomePage) -> Vec<Explanation> {
        let ids: Vec<TweetId> = page.tweets.iter().map(|it| it.place.tweet).collect();
        let receipts = self.receipts.of(&ids).await.unwrap_or_else(|error| {
            tracing::warn!(error = error.chain(), "page explained without receipts");
            vec![Receipt::default(); ids.len()]
        });
        let explained = ids.iter().zip(receipts).map(|(id, receipt)| {
            let via = page.origins.get(id).copied().unwrap_or_default();
            let visible_after_ms = match via {
                Origin::Pushed => receipt.last_ms,
                Origin::Pulled => receipt.feed_ms,
                Origin::Rebuilt | Origin::Backfilled | Origin::Deep | Origin::Activity => None,
            };
            Explanation {
                via,
                visible_after_ms,
                score: page.scores.get(id).copied(),
            }
        });
        explained.collect()
    }
}
