//! Lists of tweets that are not home timelines: the tweets behind keys, as one reader sees them, with their authors.
//!
//! From Redis and else from the tables. Unlike a home page, such a list fails if the tables do.

use std::collections::{BTreeSet, HashMap};

use super::reactions::MyReactions;
use crate::Result;
use crate::domain::{Entry, SeenTweet, Tweet, TweetId, User, UserId};
use crate::platform::Roost;
use crate::stores::cards::{Found, Lookup};
use crate::stores::{Cards, Tweets, Users};

pub struct TweetLists {
    cards: Cards,
    tweets: Tweets,
    users: Users,
    my_reactions: MyReactions,
}

/// Tweets in the order asked for, and their authors in the order in which they first appear.
#[derive(Debug, Default)]
pub struct TweetList {
    pub tweets: Vec<SeenTweet>,
    pub users: Vec<User>,
}

impl TweetLists {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            cards: Cards::new(roost)?,
            tweets: Tweets::new(roost)?,
            users: Users::new(roost)?,
            my_reactions: MyReactions::new(roost)?,
        })
    }

    /// The tweets behind these entries. What was deleted, or whose author was, is left out.
    pub async fn see(&self, me: UserId, entries: &[Entry]) -> Result<TweetList> {
        let authors: BTreeSet<UserId> = entries.iter().map(|entry| entry.author).collect();
        let found = self.cards.fetch(entries, &authors).await;
        let found = found.unwrap_or_else(|error| {
            tracing::warn!(error = error.chain(), "list read from the tables");
            Found::nothing(entries)
        });
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
        let (read, rows) =
            tokio::try_join!(self.tweets.get_many(&unknown), self.users.rows(strangers))?;
        let filled = tokio::try_join!(self.cards.fill_tweets(&read), self.cards.fill_users(&rows));
        if let Err(error) = filled {
            tracing::warn!(error = error.chain(), "cards not cached");
        }
        let mut users = found.users;
        users.extend(rows.into_iter().map(|row| (row.id(), row.into())));
        let mut read: HashMap<TweetId, Tweet> =
            read.into_iter().map(|tweet| (tweet.id, tweet)).collect();
        let tweets = entries.iter().zip(found.tweets);
        let tweets = tweets.filter_map(|(entry, lookup)| match lookup {
            Lookup::Found(tweet) => Some(tweet),
            Lookup::Deleted => None,
            Lookup::Unknown => read.remove(&entry.tweet),
        });
        let alive = tweets.filter(|tweet| users.contains_key(&tweet.author_id));
        let tweets = self.my_reactions.see(me, alive.collect()).await?;
        let authors = tweets.iter().map(|seen| seen.tweet.author_id);
        let users = authors.filter_map(|author| users.remove(&author)).collect();
        Ok(TweetList { tweets, users })
    }
}
