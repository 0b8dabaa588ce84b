//! The hydration stage: the tweets behind entries, what the reader thinks of them, and their authors' cards, from Redis and
//! else from the tables.
//!
//! At the place of a repost its original is shown. So a repost needs two things to be there, itself and its original, and
//! two people, the one who reposted it and the author.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio::time::Instant;

use super::super::rebuild::in_time;
use super::present::Reason;
use super::walk::Candidate;
use super::{HomeTimelines, Trouble, Troubles};
use crate::Result;
use crate::domain::{Entry, ListedTweet, Origin, Tweet, TweetId, User, UserId};
use crate::stores::cards::{CardFills, Found, Lookup, Standing};
use crate::stores::reacted::Marks;
use crate::stores::tweets::Post;

/// A page as it fills.
#[derive(Default)]
pub(super) struct Hydrated {
    pub(super) tweets: Vec<ListedTweet>,
    pub(super) users: HashMap<UserId, User>,
    /// The entries without a tombstone that the reader has not hidden: what the page's tag is made of.
    pub(super) alive: Vec<Entry>,
    /// What the reader thinks of them.
    pub(super) marks: Marks,
    /// People whose account was deleted.
    pub(super) gone: HashSet<UserId>,
    /// Why a tweet is where it is, by its place, if there is more to it than the order.
    pub(super) reasons: HashMap<TweetId, Reason>,
}

/// What there is to fetch for some candidates, each once.
struct Wanted {
    tweets: Vec<Entry>,
    reposts: Vec<Entry>,
    people: BTreeSet<UserId>,
}

impl Wanted {
    fn new(candidates: &[Candidate], known: &HashMap<UserId, User>) -> Self {
        let places = || candidates.iter().map(|candidate| candidate.entry);
        let older = || candidates.iter().flat_map(|it| it.older.iter().copied());
        let tweets: BTreeSet<Entry> = places().map(plain).collect();
        let reposts: BTreeSet<Entry> = places()
            .chain(older())
            .filter(|it| it.is_repost())
            .collect();
        let people = places().flat_map(|it| [it.author, it.shown().author]);
        let people = people.chain(older().map(|it| it.author));
        Self {
            tweets: tweets.into_iter().collect(),
            reposts: reposts.into_iter().collect(),
            people: people
                .filter(|person| !known.contains_key(person))
                .collect(),
        }
    }
}

/// The tweet that is shown at a place, however the reader came to it.
fn plain(entry: Entry) -> Entry {
    entry.shown().by(Origin::default())
}

/// What was found of that.
struct Fetched {
    tweets: HashMap<TweetId, Lookup>,
    reposts: HashMap<TweetId, Standing>,
    users: HashMap<UserId, User>,
    /// `false` if some people could not be looked up.
    all_people_known: bool,
}

impl Fetched {
    fn stands(&self, place: &Entry) -> bool {
        !place.is_repost() || self.reposts.get(&place.tweet) == Some(&Standing::Stands)
    }

    /// Has it a tombstone, or its original?
    fn is_buried(&self, place: &Entry) -> bool {
        let tweet = self.tweets.get(&place.shown().tweet);
        matches!(tweet, Some(Lookup::Deleted))
            || self.reposts.get(&place.tweet) == Some(&Standing::TakenBack)
    }

    /// What is shown at this place, unless it is not known to be there.
    fn tweet(&self, place: &Entry) -> Option<&Tweet> {
        match self.tweets.get(&place.shown().tweet) {
            Some(Lookup::Found(tweet)) if self.stands(place) => Some(tweet),
            _ => None,
        }
    }
}

impl HomeTimelines {
    /// Adds what is to be shown of the candidates: nothing that was deleted, taken back, hidden, or is a repeat. What the
    /// tables do not give in time is left out. So is everything if nobody can tell what the reader has hidden.
    pub(super) async fn hydrate(
        &self,
        me: UserId,
        candidates: &[Candidate],
        hydrated: &mut Hydrated,
        until: Instant,
        troubles: &mut Troubles,
    ) {
        let nobody = BTreeSet::new();
        self.hydrate_with(me, candidates, &nobody, hydrated, until, troubles)
            .await;
    }

    /// The same, and the cards of some people beside those whom the candidates name.
    pub(super) async fn hydrate_with(
        &self,
        me: UserId,
        candidates: &[Candidate],
        people: &BTreeSet<UserId>,
        hydrated: &mut Hydrated,
        until: Instant,
        troubles: &mut Troubles,
    ) {
        let mut wanted = Wanted::new(candidates, &hydrated.users);
        let unknown = people.iter();
        let unknown = unknown.filter(|person| !hydrated.users.contains_key(person));
        wanted.people.extend(unknown);
        let (found, marks) = tokio::join!(
            self.cards
                .fetch(&wanted.tweets, &wanted.reposts, &wanted.people),
            in_time(until, self.my_reactions.to_entries(me, &wanted.tweets))
        );
        if let Some(marks) = troubles.note(Trouble::TablesUnavailable, marks) {
            let fetched = self.complete(wanted, found, until, troubles).await;
            hydrated.add(candidates, fetched, marks);
        }
    }

    /// Which of these reposts stand. The tables are asked about those that Redis does not know.
    pub(super) async fn standing(&self, reposts: BTreeSet<Entry>) -> Result<HashSet<TweetId>> {
        if reposts.is_empty() {
            return Ok(HashSet::new());
        }
        let reposts: Vec<Entry> = reposts.into_iter().collect();
        let found = self.cards.fetch(&[], &reposts, &BTreeSet::new()).await?;
        let is = |wanted: Standing| {
            let found = reposts.iter().zip(&found.reposts);
            let found = found.filter(move |(_, standing)| **standing == wanted);
            found.map(|(repost, _)| *repost).collect::<Vec<Entry>>()
        };
        let read = self.tweets.posts(&is(Standing::Unknown)).await?;
        let read: Vec<Entry> = read.iter().map(Post::entry).collect();
        self.cards.fill_reposts(&read).await?;
        let standing = is(Standing::Stands).into_iter().chain(read);
        Ok(standing.map(|repost| repost.tweet).collect())
    }

    /// Reads from the tables what Redis does not know, and lets it know.
    async fn complete(
        &self,
        wanted: Wanted,
        found: Result<Found>,
        until: Instant,
        troubles: &mut Troubles,
    ) -> Fetched {
        let cache_answers = found.is_ok();
        let found = troubles
            .note(Trouble::CacheUnavailable, found)
            .unwrap_or_else(|| Found::nothing(&wanted.tweets, &wanted.reposts));
        let tweets = wanted.tweets.iter().zip(&found.tweets);
        let unknown = tweets.filter(|(_, lookup)| matches!(lookup, Lookup::Unknown));
        let unknown: Vec<Entry> = unknown.map(|(entry, _)| *entry).collect();
        let reposts = wanted.reposts.iter().zip(&found.reposts);
        let in_doubt = reposts.filter(|(_, standing)| **standing == Standing::Unknown);
        let in_doubt: Vec<Entry> = in_doubt.map(|(entry, _)| *entry).collect();
        let strangers = wanted.people.iter().copied();
        let strangers: Vec<UserId> = strangers
            .filter(|person| !found.users.contains_key(person))
            .collect();

        let fills = if cache_answers {
            self.cards.begin_fill(&strangers).await
        } else {
            Ok(CardFills::default())
        };
        let (read, standing, rows) = tokio::join!(
            in_time(until, self.tweets.get_many(&unknown)),
            in_time(until, self.tweets.posts(&in_doubt)),
            in_time(until, self.users.rows(strangers))
        );
        let all_people_known = rows.is_ok();
        let tables = Trouble::TablesUnavailable;
        let read = troubles.note(tables, read).unwrap_or_default();
        let standing = troubles.note(tables, standing).unwrap_or_default();
        let standing: Vec<Entry> = standing.iter().map(Post::entry).collect();
        let rows = troubles.note(tables, rows).unwrap_or_default();
        if cache_answers {
            let filled = async {
                let fills = fills?;
                let users = self.cards.fill_users(&rows, &fills);
                let reposts = self.cards.fill_reposts(&standing);
                tokio::try_join!(self.cards.fill_tweets(&read), reposts, users)
            };
            if let Err(error) = filled.await {
                tracing::warn!(error = error.chain(), "cards not cached");
            }
        }

        let ids = |entries: &[Entry]| entries.iter().map(|it| it.tweet).collect::<Vec<_>>();
        let mut fetched = Fetched {
            tweets: ids(&wanted.tweets).into_iter().zip(found.tweets).collect(),
            reposts: ids(&wanted.reposts)
                .into_iter()
                .zip(found.reposts)
                .collect(),
            users: found.users,
            all_people_known,
        };
        let read = read.into_iter();
        fetched
            .tweets
            .extend(read.map(|tweet| (tweet.id, Lookup::Found(tweet))));
        let standing = standing.iter();
        fetched
            .reposts
            .extend(standing.map(|repost| (repost.tweet, Standing::Stands)));
        let rows = rows.into_iter();
        fetched.users.extend(rows.map(|row| (row.id(), row.into())));
        fetched
    }
}

impl Hydrated {
    /// Adds what is to be shown of the candidates.
    fn add(&mut self, candidates: &[Candidate], mut fetched: Fetched, marks: Marks) {
        self.users.extend(fetched.users.drain());
        for Candidate { entry, older } in candidates {
            let shown = entry.shown();
            // What a deleted account has reposted is about to go.
            let counts = |place: &Entry| {
                fetched.stands(place)
                    && (self.users.contains_key(&place.author) || !fetched.all_people_known)
            };
            if marks.hidden.contains(&shown.tweet) || older.iter().any(counts) {
                continue;
            }
            let mut people = [entry.author, shown.author].into_iter();
            let missing = people.find(|person| !self.users.contains_key(person));
            if let Some(person) = missing.filter(|_| fetched.all_people_known) {
                // The account was deleted, and the tweets are about to be.
                self.gone.insert(person);
                continue;
            }
            if fetched.is_buried(entry) {
                continue;
            }
            self.alive.push(*entry);
            let tweet = fetched.tweet(entry).cloned();
            let listed = tweet.map(|tweet| ListedTweet::new(*entry, marks.see(tweet)));
            self.tweets.extend(listed);
        }
        self.marks.extend(marks);
    }
}
