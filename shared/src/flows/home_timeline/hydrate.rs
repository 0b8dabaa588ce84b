//! The hydration stage: the tweets behind entries, what the reader thinks of them, and their authors' cards, from Redis and
//! else from the tables.
//!
//! At the place of a repost its original is shown. So a repost needs two things to be there, itself and its original, and
//! two people, the one who reposted it and the author.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio::time::Instant;

use super::super::rebuild::in_time;
use super::walk::Candidate;
use super::{HomeTimelines, Trouble, Troubles};
use crate::domain::{Entry, ListedTweet, Origin, Tweet, TweetId, User, UserId};
use crate::stores::cards::{CardFills, Found, Lookup, Standing};
use crate::stores::reacted::Marks;

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
        let older = candidates.iter().flat_map(|it| it.older.iter().copied());
        let tweets: BTreeSet<Entry> = places().map(plain).collect();
        let reposts: BTreeSet<Entry> = places().chain(older).filter(|it| it.is_repost()).collect();
        let people = places().flat_map(|it| [it.author, it.shown().author]);
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
        let wanted = Wanted::new(candidates, &hydrated.users);
        let (fetched, marks) = tokio::join!(
            self.cards
                .fetch(&wanted.tweets, &wanted.reposts, &wanted.people),
            in_time(until, self.my_reactions.to_entries(me, &wanted.tweets))
        );
        let Some(marks) = troubles.note(Trouble::TablesUnavailable, marks) else {
            return;
        };
        let cache_answers = fetched.is_ok();
        let found = troubles
            .note(Trouble::CacheUnavailable, fetched)
            .unwrap_or_else(|| Found::nothing(&wanted.tweets, &wanted.reposts));
        let strangers = wanted.people.into_iter();
        let strangers: Vec<UserId> = strangers
            .filter(|person| !found.users.contains_key(person))
            .collect();
        let tweets = wanted.tweets.into_iter().zip(found.tweets);
        let mut tweets: HashMap<TweetId, (Entry, Lookup)> = tweets
            .map(|(entry, lookup)| (entry.tweet, (entry, lookup)))
            .collect();
        let reposts = wanted.reposts.into_iter().zip(found.reposts);
        let mut reposts: HashMap<TweetId, (Entry, Standing)> = reposts
            .map(|(entry, standing)| (entry.tweet, (entry, standing)))
            .collect();

        // What Redis does not know.
        let unknown = tweets
            .values()
            .filter(|(_, lookup)| matches!(lookup, Lookup::Unknown));
        let in_doubt = reposts
            .values()
            .filter(|(_, standing)| *standing == Standing::Unknown);
        let unknown: Vec<Entry> = unknown.map(|(entry, _)| *entry).collect();
        let in_doubt: Vec<Entry> = in_doubt.map(|(entry, _)| *entry).collect();
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
        let read = troubles
            .note(Trouble::TablesUnavailable, read)
            .unwrap_or_default();
        let standing = troubles
            .note(Trouble::TablesUnavailable, standing)
            .unwrap_or_default();
        let standing: Vec<Entry> = standing.iter().map(|post| post.entry()).collect();
        let all_known = rows.is_ok();
        let rows = troubles
            .note(Trouble::TablesUnavailable, rows)
            .unwrap_or_default();
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

        let users = &mut hydrated.users;
        users.extend(found.users);
        users.extend(rows.into_iter().map(|row| (row.id(), row.into())));
        for repost in &standing {
            reposts.insert(repost.tweet, (*repost, Standing::Stands));
        }
        for tweet in read {
            tweets.insert(tweet.id, (tweet.entry(), Lookup::Found(tweet)));
        }
        let stands = |place: &Entry| {
            let known = reposts.get(&place.tweet);
            !place.is_repost() || known.is_some_and(|(_, known)| *known == Standing::Stands)
        };
        for Candidate { entry, older } in candidates {
            let shown = entry.shown();
            if marks.hidden.contains(&shown.tweet) || older.iter().any(stands) {
                continue;
            }
            let missing = [entry.author, shown.author]
                .into_iter()
                .find(|person| !users.contains_key(person));
            if let Some(person) = missing.filter(|_| all_known) {
                // The account was deleted, and the tweets are about to be.
                hydrated.gone.insert(person);
                continue;
            }
            let taken_back = reposts
                .get(&entry.tweet)
                .is_some_and(|(_, known)| *known == Standing::TakenBack);
            let lookup = tweets.get(&shown.tweet).map(|(_, lookup)| lookup);
            if taken_back || matches!(lookup, Some(Lookup::Deleted)) {
                continue;
            }
            hydrated.alive.push(*entry);
            if let Some(Lookup::Found(tweet)) = lookup
                && stands(entry)
            {
                let listed = ListedTweet::new(*entry, marks.see(Tweet::clone(tweet)));
                hydrated.tweets.push(listed);
            }
        }
        hydrated.marks.extend(marks);
    }
}
