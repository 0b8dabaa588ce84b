//! The last stage: the page that a handler answers with, its entity tag, and how each tweet came there.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

use super::hydrate::Hydrated;
use super::walk::Walk;
use super::{HomeTimelines, Troubles};
use crate::domain::{Entry, ListedTweet, Origin, TweetId, User, UserId};
use crate::stores::reacted::Marks;
use crate::stores::receipts::Receipt;

#[derive(Debug, Default)]
pub struct HomePage {
    /// Newest first.
    pub tweets: Vec<ListedTweet>,
    /// The authors and those who reposted, in the order in which they first appear.
    pub users: Vec<User>,
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
    /// How each entry came here, by its place.
    origins: HashMap<TweetId, Origin>,
}

/// How a tweet came to the reader's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    pub via: Origin,
    /// After how many milliseconds it was there: a pulled tweet in its author's feed, a pushed one with the last of all
    /// followers. `None` if that is not known (any more).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible_after_ms: Option<u64>,
}

/// A page that is read on downwards.
pub(super) fn page_below(
    me: UserId,
    below: Option<TweetId>,
    size: usize,
    mut hydrated: Hydrated,
    walk: Walk<'_>,
) -> HomePage {
    let last_read = walk.last_read;
    let found = hydrated.tweets.len();
    let more = found > size || (found == size && walk.has_more());
    hydrated.tweets.truncate(size);
    let oldest = hydrated.tweets.last().map(|oldest| oldest.place.tweet);
    // All of the page must be in its tag, also if some entries above its end show nothing.
    let is_on_page = |entry: &&Entry| !more || oldest.is_none_or(|oldest| entry.tweet >= oldest);
    let on_page: Vec<Entry> = hydrated.alive.iter().filter(is_on_page).copied().collect();
    let tag = tag(me, last_read, &on_page, &hydrated.marks, more);
    let reached = oldest.is_some_and(|oldest| oldest <= last_read);
    HomePage {
        more,
        tag,
        caught_up: reached && below.is_none_or(|below| below > last_read),
        queries: walk.queries,
        ..HomePage::new(hydrated, walk.troubles)
    }
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

impl HomePage {
    fn new(mut hydrated: Hydrated, troubles: Troubles) -> Self {
        let tweets = hydrated.tweets;
        let people = tweets.iter().flat_map(ListedTweet::people);
        let users = people.filter_map(|person| hydrated.users.remove(&person));
        let origins = hydrated.alive.iter();
        Self {
            users: users.collect(),
            origins: origins.map(|entry| (entry.tweet, entry.origin)).collect(),
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
                Origin::Rebuilt | Origin::Backfilled | Origin::Deep => None,
            };
            Explanation {
                via,
                visible_after_ms,
            }
        });
        explained.collect()
    }
}
