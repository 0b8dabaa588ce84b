//! The hydration stage: the tweets behind entries and their authors' cards, from Redis and else from the tables.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio::time::Instant;

use super::super::rebuild::in_time;
use super::{HomeTimelines, Trouble, Troubles};
use crate::domain::{Entry, Tweet, TweetId, User, UserId};
use crate::stores::cards::{CardFills, Found, Lookup};

/// A page as it fills.
#[derive(Default)]
pub(super) struct Hydrated {
    pub(super) tweets: Vec<Tweet>,
    pub(super) users: HashMap<UserId, User>,
    /// The entries without a tombstone: what the page's tag is made of.
    pub(super) alive: Vec<Entry>,
    /// Authors whose account was deleted.
    pub(super) gone: HashSet<UserId>,
}

impl HomeTimelines {
    /// Adds the tweets behind the entries, without those that were deleted, and their authors' cards. What the tables do
    /// not give in time is left out.
    pub(super) async fn hydrate(
        &self,
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
        let fetched = self.cards.fetch(entries, &authors).await;
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
            hydrated.alive.push(*entry);
            hydrated.tweets.extend(tweet);
        }
    }
}
