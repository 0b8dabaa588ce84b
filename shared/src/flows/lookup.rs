//! Users and tweets by their ids, many at once: from Redis, and from the tables what Redis does not know.

use std::collections::{BTreeSet, HashMap};

use futures_util::{StreamExt, TryStreamExt, stream};

use super::reactions::MyReactions;
use crate::Result;
use crate::domain::{Entry, SeenTweet, Tweet, TweetId, User, UserId};
use crate::platform::Roost;
use crate::stores::{Cards, Tweets, Users};

/// Questions to the index of tweets that are under way at the same time.
const AT_ONCE: usize = 10;

/// Tweets by their ids.
pub struct TweetLookup {
    cards: Cards,
    tweets: Tweets,
    people: People,
    my_reactions: MyReactions,
}

#[derive(Debug, Default)]
pub struct FoundTweets {
    /// In the order asked.
    pub tweets: Vec<SeenTweet>,
    /// Their authors, in the order in which they first appear.
    pub users: Vec<User>,
    /// How often the index was asked who wrote a tweet.
    pub queries: usize,
}

impl TweetLookup {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            cards: Cards::new(roost)?,
            tweets: Tweets::new(roost)?,
            people: People::new(roost)?,
            my_reactions: MyReactions::new(roost)?,
        })
    }

    /// The tweets with these ids; those that are not there, or whose author is not, are left out.
    ///
    /// Two round trips to Redis. For what Redis does not know: a query each for its author, a batch for every hundred
    /// tweets, and a batch for every hundred authors. `me` reads: the index may not know yet what they just posted.
    pub async fn list(&self, me: UserId, ids: &[TweetId]) -> Result<FoundTweets> {
        let found = self.cached(ids).await;
        let unknown = ids.iter().filter(|id| !found.contains_key(id)).copied();
        let unknown: Vec<TweetId> = unknown.collect();
        let queries = unknown.len();
        let places: Vec<Vec<Entry>> = stream::iter(unknown)
            .map(async |id| self.tweets.places_of(id, me).await)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        let found = self.complete(me, ids, found, &places.concat()).await?;
        Ok(FoundTweets { queries, ..found })
    }

    /// The tweets behind these entries. Their authors are known, so the index is not asked.
    pub async fn list_entries(&self, me: UserId, entries: &[Entry]) -> Result<FoundTweets> {
        let ids: Vec<TweetId> = entries.iter().map(|entry| entry.tweet).collect();
        let found = self.cached(&ids).await;
        let unknown = entries
            .iter()
            .filter(|entry| !found.contains_key(&entry.tweet));
        let unknown: Vec<Entry> = unknown.copied().collect();
        self.complete(me, &ids, found, &unknown).await
    }

    async fn cached(&self, ids: &[TweetId]) -> HashMap<TweetId, Tweet> {
        let cached = self.cards.tweets(ids).await.unwrap_or_else(|error| {
            tracing::warn!(error = error.chain(), "tweets looked up without the cache");
            Vec::new()
        });
        let known = cached.into_iter().flatten();
        known.map(|tweet| (tweet.id, tweet)).collect()
    }

    /// Adds what has to be read from the tables, the authors, and what the reader thinks of the tweets.
    async fn complete(
        &self,
        me: UserId,
        ids: &[TweetId],
        mut found: HashMap<TweetId, Tweet>,
        unknown: &[Entry],
    ) -> Result<FoundTweets> {
        let read = self.tweets.get_many(unknown).await?;
        if let Err(error) = self.cards.fill_tweets(&read).await {
            tracing::warn!(error = error.chain(), "tweets not cached");
        }
        found.extend(read.into_iter().map(|tweet| (tweet.id, tweet)));

        let authors = found.values().map(|tweet| tweet.author_id).collect();
        let mut users = self.people.find(&authors).await?;
        let tweets = ids.iter().filter_map(|id| found.remove(id));
        let tweets: Vec<Tweet> = tweets
            .filter(|tweet| users.contains_key(&tweet.author_id))
            .collect();
        let authors = tweets
            .iter()
            .filter_map(|tweet| users.remove(&tweet.author_id));
        Ok(FoundTweets {
            users: authors.collect(),
            tweets: self.my_reactions.see(me, tweets).await?,
            queries: 0,
        })
    }
}

/// People by their ids.
pub struct People {
    cards: Cards,
    users: Users,
}

impl People {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            cards: Cards::new(roost)?,
            users: Users::new(roost)?,
        })
    }

    /// The users with these ids, in their order; ids without a profile are left out.
    ///
    /// One round trip to Redis. For those whom Redis does not know: two more, and a batch for every hundred.
    pub async fn list(&self, ids: &[UserId]) -> Result<Vec<User>> {
        let set = ids.iter().copied().collect();
        let mut found = self.find(&set).await?;
        Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
    }

    async fn find(&self, ids: &BTreeSet<UserId>) -> Result<HashMap<UserId, User>> {
        let (mut found, cache_answers) = match self.cards.fetch(&[], &[], ids).await {
            Ok(found) => (found.users, true),
            Err(error) => {
                tracing::warn!(error = error.chain(), "people looked up without the cache");
                (HashMap::new(), false)
            }
        };
        let unknown = ids.iter().filter(|id| !found.contains_key(id)).copied();
        let unknown: Vec<UserId> = unknown.collect();
        if unknown.is_empty() {
            return Ok(found);
        }
        // Before the table is read, so that nothing is cached that changes meanwhile.
        let fills = self.cards.begin_fill(&unknown).await;
        let rows = self.users.rows(unknown).await?;
        if cache_answers {
            let filled = async { self.cards.fill_users(&rows, &fills?).await };
            if let Err(error) = filled.await {
                tracing::warn!(error = error.chain(), "cards not cached");
            }
        }
        found.extend(rows.into_iter().map(|row| (row.id(), row.into())));
        Ok(found)
    }
}
