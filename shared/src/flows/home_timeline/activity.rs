//! Guests on a page: tweets of people whom the reader does not follow, with which people whom the reader follows did
//! something lately.
//!
//! Nobody can look at what everybody did. So of the people in the reader's list, and of the celebrities, those who posted last
//! are looked at. What does not come in time is left out: a page does not depend on its guests, so it is complete without
//! them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use super::super::deeds::DeedReader;
use super::super::rebuild::in_time;
use super::hydrate::Hydrated;
use super::present::{self, Reason};
use super::walk::{Candidate, Walk};
use super::{BUDGET, HomePage, HomeTimelines, Troubles};
use crate::Result;
use crate::domain::activity::{Deed, Doing, Guest, GuestRule, guests, tweets_at, weave};
use crate::domain::timeline::ALL_KNOWN;
use crate::domain::walk_cursor::MOST_SHOWN;
use crate::domain::{
    CursorOf, Entry, ListedTweet, Origin, PageSize, Reaction, TweetId, UserId, WalkCursor,
};
use crate::platform::{Roost, metrics, now_millis};
use crate::stores::follows::Edge;
use crate::stores::tweets::NEWEST;

/// So many guests are looked at for one page, before it is known which of them may be shown.
const INVITED: usize = 40;

/// How long a page waits for the deeds that bring its guests.
const LATE: Duration = Duration::from_millis(700);

/// How much longer it waits for the guests themselves.
const HYDRATION: Duration = Duration::from_millis(500);

/// Finds guests.
pub struct Activity {
    deeds: DeedReader,
    pub(super) rule: GuestRule,
}

/// Where guests may come from on one page.
pub(super) struct Range {
    /// Their places lie below this id,
    pub(super) below: TweetId,
    /// and above this one.
    pub(super) above: TweetId,
    /// Tweets that were guests on an earlier page.
    pub(super) shown: BTreeSet<TweetId>,
    pub(super) most: usize,
}

/// What was found.
#[derive(Default)]
pub(super) struct Invited {
    /// Newest first.
    pub(super) guests: Vec<ListedTweet>,
    /// Why, by the tweet's id; also for tweets that are there without it.
    pub(super) reasons: HashMap<TweetId, Reason>,
    pub(super) queries: usize,
}

impl Activity {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            deeds: DeedReader::new(roost)?,
            rule: roost.config.guest_rule()?,
        })
    }
}

impl HomeTimelines {
    /// The page below a cursor in the latest order, or the newest, with guests.
    pub async fn page_with_activity(
        &self,
        activity: &Activity,
        me: UserId,
        cursor: Option<WalkCursor>,
        size: PageSize,
    ) -> HomePage {
        let (size, deadline) = (size.get(), Instant::now() + BUDGET);
        let below = cursor.as_ref().map(|cursor| cursor.below);
        let mut shown = cursor.map(|cursor| cursor.shown).unwrap_or_default();
        let mut walk = Walk::begin_with_all(self, me, below, deadline).await;
        let mut hydrated = Hydrated::default();
        walk.already_shown.clone_from(&shown);
        self.collect(&mut walk, size, &mut hydrated).await;
        let found = hydrated.tweets.len();
        let more = found > size || (found == size && walk.has_more());
        hydrated.tweets.truncate(size);
        let last = hydrated.tweets.last().map(|last| last.place.tweet);
        let range = Range {
            below: below.unwrap_or(NEWEST),
            above: last.filter(|_| more).unwrap_or(ALL_KNOWN),
            most: activity
                .rule
                .most(size, hydrated.tweets.len())
                .min(MOST_SHOWN.saturating_sub(shown.len())),
            shown: shown.clone(),
        };
        let mut invited = self.invite(activity, &mut walk, range, &mut hydrated).await;
        let guests: BTreeSet<TweetId> = invited.guests.iter().map(|it| it.seen.tweet.id).collect();
        let own = std::mem::take(&mut hydrated.tweets);
        let (page, left) = weave(own, invited.guests, size, |it| it.place.tweet);
        hydrated.tweets = page;
        let mut woven = 0;
        for item in &hydrated.tweets {
            let (tweet, place) = (item.seen.tweet.id, item.place.tweet);
            if guests.contains(&tweet) {
                shown.insert(tweet);
                woven += 1;
            }
            let reason = invited.reasons.remove(&tweet);
            hydrated
                .reasons
                .extend(reason.map(|reason| (place, reason)));
        }
        metrics::ACTIVITY_ITEMS.add(woven);
        let last = hydrated.tweets.last().map(|last| last.place.tweet);
        let next = last.filter(|_| more || left).map(|below| {
            // A guest is older than its place, so what is above this cannot come again.
            drop(shown.split_off(&below));
            let next = WalkCursor {
                shown,
                ..WalkCursor::start(below)
            };
            next.to_text(CursorOf::LatestWithActivity, me)
        });
        present::page_with_guests(next, below, invited.queries, hydrated, walk)
    }

    /// The guests of a page, and what else people did with its tweets. Their authors and people join those of the page.
    pub(super) async fn invite(
        &self,
        activity: &Activity,
        walk: &mut Walk<'_>,
        range: Range,
        hydrated: &mut Hydrated,
    ) -> Invited {
        let late = Instant::now() + LATE;
        let people = walk.people(activity.rule.people);
        let (deeds, mut queries) = activity.deeds.of(&people, late).await;
        let (strangers, others) = guests_and_others(deeds, walk, &range, &activity.rule);
        let guests = if strangers.is_empty() {
            strangers
        } else {
            queries += 1;
            let found = in_time(late + HYDRATION, self.only_strangers(walk, strangers)).await;
            found.unwrap_or_else(|error| {
                tracing::warn!(error = error.chain(), "page without activity");
                Vec::new()
            })
        };
        if guests.is_empty() && others.is_empty() {
            return Invited {
                queries,
                ..Invited::default()
            };
        }
        let places: HashMap<TweetId, Guest> = guests
            .into_iter()
            .map(|guest| (guest.place.shown().tweet, guest))
            .collect();
        let candidates = places.values();
        let candidates: Vec<Candidate> = candidates
            .map(|guest| Candidate::certain(guest.place.shown()))
            .collect();
        // The page's own tweets stay where they are.
        let own = std::mem::take(&mut hydrated.tweets);
        let also: BTreeSet<UserId> = people.into_iter().collect();
        let (until, mut troubles) = (late + HYDRATION, Troubles::default());
        self.hydrate_with(walk.me, &candidates, &also, hydrated, until, &mut troubles)
            .await;
        let seen = std::mem::replace(&mut hydrated.tweets, own);
        let mut invited = Invited {
            queries,
            ..Invited::default()
        };
        for listed in seen {
            let tweet = listed.seen.tweet.id;
            let Some(guest) = places.get(&tweet) else {
                continue;
            };
            let place = Entry::new(guest.place.tweet, listed.seen.tweet.author_id);
            let place = place.by(Origin::Activity);
            if let Some(reason) = hydrated.reason(&guest.doing) {
                invited.reasons.insert(tweet, reason);
                invited.guests.push(ListedTweet::new(place, listed.seen));
            }
        }
        invited
            .guests
            .sort_by_key(|guest| std::cmp::Reverse(guest.place.tweet));
        invited.guests.truncate(range.most);
        let others = others.into_iter();
        let others = others.filter_map(|guest| {
            let reason = hydrated.reason(&guest.doing)?;
            Some((guest.place.shown().tweet, reason))
        });
        invited.reasons.extend(others);
        invited
    }

    /// Leaves out those whose author is followed, or on either side of a block with the reader.
    async fn only_strangers(&self, walk: &Walk<'_>, mut guests: Vec<Guest>) -> Result<Vec<Guest>> {
        let authors = guests.iter().map(|it| it.place.shown().author);
        let apart = self.not_guests(walk, &authors.collect()).await?;
        guests.retain(|it| !apart.contains(&it.place.shown().author));
        Ok(guests)
    }

    /// Of these authors, those whom the reader follows, and those on either side of a block with the reader.
    async fn not_guests(
        &self,
        walk: &Walk<'_>,
        authors: &BTreeSet<UserId>,
    ) -> Result<HashSet<UserId>> {
        let edges = authors.iter().map(|author| Edge::new(walk.me, *author));
        let edges: Vec<Edge> = edges.collect();
        let followed = self.following.existing(&edges, true).await?;
        let mut apart: HashSet<UserId> = followed.into_iter().map(Edge::followee).collect();
        if walk.filter.may_lack_blockers() {
            apart.extend(self.relations.apart(walk.me, authors).await?);
        }
        Ok(apart)
    }
}

/// The tweets of strangers that may be guests, and those that stand in the timeline anyway, also by a repost.
fn guests_and_others(
    mut deeds: Vec<Deed>,
    walk: &Walk<'_>,
    range: &Range,
    rule: &GuestRule,
) -> (Vec<Guest>, Vec<Guest>) {
    let since = TweetId::first_at(rule.since(now_millis()));
    deeds.retain(|deed| deed.place.tweet >= since && walk.filter.shows(&deed.place));
    let mut direct = tweets_at(walk.entries());
    let reposts = deeds.iter().filter(|it| it.reaction == Reaction::Repost);
    direct.extend(tweets_at(reposts.map(|deed| &deed.place)));
    let (others, strangers): (Vec<Guest>, Vec<Guest>) = guests(deeds)
        .into_iter()
        .partition(|guest| direct.contains(&guest.place.shown().tweet));
    let is_in_range = |guest: &Guest| {
        let (place, tweet) = (guest.place.tweet, guest.place.shown());
        place < range.below
            && place > range.above
            && tweet.author != walk.me
            && !range.shown.contains(&tweet.tweet)
    };
    let strangers = strangers.into_iter().filter(is_in_range);
    let invited = INVITED.min(range.most * 4);
    (strangers.take(invited).collect(), others)
}

impl Hydrated {
    /// Who did what, as far as they have an account.
    fn reason(&self, doing: &Doing) -> Option<Reason> {
        let people = doing.people.iter().copied();
        let people: Vec<UserId> = people.filter(|it| self.users.contains_key(it)).collect();
        Reason::new(doing.reaction, &people)
    }
}
