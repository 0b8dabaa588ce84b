//! What people did lately with the tweets of others: from the cache, or else from the tables.

use futures_util::{StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use crate::Result;
use crate::domain::activity::Deed;
use crate::domain::{Entry, Reaction, UserId};
use crate::platform::Roost;
use crate::stores::deeds::{Deeds, MOST};
use crate::stores::tweets::{NEWEST, Post};
use crate::stores::{Reactions, Tweets};

/// People who are read from the tables at the same time.
const CONCURRENCY: usize = 10;

/// Queries that one person takes.
const QUERIES: usize = 3;

pub struct DeedReader {
    deeds: Deeds,
    reactions: Reactions,
    tweets: Tweets,
}

impl DeedReader {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            deeds: Deeds::new(roost)?,
            reactions: Reactions::new(roost)?,
            tweets: Tweets::new(roost)?,
        })
    }

    /// What these people did lately, and how many queries it took to find out. If the tables do not tell in time what somebody
    /// did, it is left out. What they tell is kept for the next reader.
    pub async fn of(&self, people: &[UserId], until: Instant) -> (Vec<Deed>, usize) {
        let cached = match self.deeds.of(people).await {
            Ok(cached) => cached,
            Err(error) => {
                tracing::warn!(error = error.chain(), "page without activity");
                return (Vec::new(), 0);
            }
        };
        let missing: Vec<UserId> = people
            .iter()
            .zip(&cached)
            .filter(|(_, deeds)| deeds.is_none())
            .map(|(person, _)| *person)
            .collect();
        let mut found: Vec<Deed> = cached.into_iter().flatten().flatten().collect();
        if missing.is_empty() {
            return (found, 0);
        }
        let queries = missing.len() * QUERIES;
        let reads = missing
            .into_iter()
            .map(|person| async move { (person, self.read(person).await) });
        let reads: Vec<_> = reads.collect();
        let mut read = Vec::new();
        let mut answers = stream::iter(reads).buffer_unordered(CONCURRENCY);
        while let Ok(Some((person, deeds))) = timeout_at(until, answers.next()).await {
            match deeds {
                Ok(deeds) => read.push((person, deeds)),
                Err(error) => tracing::warn!(error = error.chain(), "deeds not read"),
            }
        }
        if let Err(error) = self.deeds.store(&read).await {
            tracing::warn!(error = error.chain(), "deeds not cached");
        }
        found.extend(read.into_iter().flat_map(|(_, deeds)| deeds));
        (found, queries)
    }

    async fn read(&self, person: UserId) -> Result<Vec<Deed>> {
        let (likes, posts, replies) = tokio::try_join!(
            self.reactions.newest_likes(person, MOST),
            self.tweets.newest(person, false, NEWEST, MOST),
            self.tweets.newest(person, true, NEWEST, MOST)
        )?;
        let likes = likes
            .into_iter()
            .map(|(tweet, at)| Deed::at(person, Reaction::Like, tweet, at));
        let reposts = posts.iter().map(Post::entry);
        let reposts = reposts.filter(|post| post.is_repost()).map(|place| Deed {
            place,
            reaction: Reaction::Repost,
        });
        let replies = replies.into_iter().filter_map(|reply| {
            let (place, parent) = (reply.entry(), reply.tweet()?.in_reply_to?);
            let place = Entry::new(place.tweet, person);
            Some(Deed {
                place: place.reposting(parent),
                reaction: Reaction::Reply,
            })
        });
        Ok(likes.chain(reposts).chain(replies).collect())
    }
}
