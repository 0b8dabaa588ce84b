//! The hydration stage: the tweets behind entries, what the reader thinks of them, and their authors' cards, from Redis and
//! else from the tables.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio::time::Instant;

use super::super::rebuild::in_time;
use super::{HomeTimelines, Trouble, Troubles};
use crate::domain::{Entry, SeenTweet, Tweet, TweetId, User, UserId};
use crate::stores::cards::{CardFills, Found, Lookup};

/// A page as it fills.
#[derive(Default)]
pub(super) struct Hydrated {
    pub(super) tweets: Vec<SeenTweet>,
    pub(super) users: HashMap<UserId, User>,
    /// The entries without a tombstone that the reader has not hidden: what the page's tag is made of.
    pub(super) alive: Vec<Entry>,
    /// Which of them the reader likes.
    pub(super) liked: HashSet<TweetId>,
    /// Authors whose account was deleted.
    pub(super) gone: HashSet<UserId>,
}

impl HomeTimelines {
    /// Adds the tweets behind the entries, without those that were deleted or that the reader has hidden, and their
    /// authors' cards. What the tables do not give in time is left out. So is everything if nobody can tell what the reader
    /// has hidden.
    pub(super) async fn hydrate(
        &self,
        me: UserId,
        entries: &[Entry],
        hydrated: &mut Hydrated,
        until: Instant,
        troubles: &mut Troubles,
    ) {
        let users = &mut hydrated.users;
        let authors: BTreeSet<UserId> = entries
            .iter()
            .map(|entry| entry.author)
            .filter(|author| !users.contains_key(author))
            .collect();
        let ids: Vec<TweetId> = entries.iter().map(|entry| entry.tweet).collect();
        let (fetched, marks) = tokio::join!(
            self.cards.fetch(entries, &authors),
            in_time(until, self.my_reactions.to_tweets(me, &ids))
        );
        let Some(marks) = troubles.note(Trouble::TablesUnavailable, marks) else {
            return;
        };
        let cache_answers = fetched.is_ok();
        let mut found = troubles
            .note(Trouble::CacheUnavailable, fetched)
            .unwrap_or_else(|| Found::nothing(entries));

        let unknown: Vec<Entry> = entries
            .iter()
            .zip(&found.tweets)
            .filter(|(_, lookup)| matches!(lookup, Lookup::Unknown))
            .map(|(entry, _)| *entry)
            .collect();
        let strangers: Vec<UserId> = authors
            .into_iter()
            .filter(|author| !found.users.contains_key(author))
            .collect();
        let fills = if cache_answers {
            self.cards.begin_fill(&strangers).await
        } else {
            Ok(CardFills::default())
        };
        let (read, rows) = tokio::join!(
            in_time(until, self.tweets.get_many(&unknown)),
            in_time(until, self.users.rows(strangers))
        );
        let read = troubles
            .note(Trouble::TablesUnavailable, read)
            .unwrap_or_default();
        let all_authors_known = rows.is_ok();
        let rows = troubles
            .note(Trouble::TablesUnavailable, rows)
            .unwrap_or_default();
        if cache_answers {
            let filled = async {
                let fills = fills?;
                let users = self.cards.fill_users(&rows, &fills);
                tokio::try_join!(self.cards.fill_tweets(&read), users)
            };
            if let Err(error) = filled.await {
                tracing::warn!(error = error.chain(), "cards not cached");
            }
        }

        found
            .users
            .extend(rows.into_iter().map(|row| (row.id(), row.into())));
        users.extend(found.users);
        let mut read: HashMap<TweetId, Tweet> =
            read.into_iter().map(|tweet| (tweet.id, tweet)).collect();
        for (entry, lookup) in entries.iter().zip(found.tweets) {
            if marks.hidden.contains(&entry.tweet) {
                continue;
            }
            if all_authors_known && !users.contains_key(&entry.author) {
                // The author's account was deleted, and the tweets are about to be.
                hydrated.gone.insert(entry.author);
                continue;
            }
            let tweet = match lookup {
                Lookup::Found(tweet) => Some(tweet),
                Lookup::Deleted => continue,
                Lookup::Unknown => read.remove(&entry.tweet),
            };
            let liked = marks.liked.contains(&entry.tweet);
            hydrated.alive.push(*entry);
            hydrated
                .tweets
                .extend(tweet.map(|tweet| SeenTweet { tweet, liked }));
        }
        hydrated.liked.extend(marks.liked);
    }
}
