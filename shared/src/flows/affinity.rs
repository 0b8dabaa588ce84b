//! How close a reader is to authors: from the cache, or else from what the reader did lately.

use futures_util::future::try_join_all;

use crate::Result;
use crate::domain::{Affinities, AffinityRule, Interaction, Reaction, UserId};
use crate::platform::{Roost, metrics, now_millis};
use crate::stores::tweets::{NEWEST, Post};
use crate::stores::{AffinityCache, Reactions, Tweets};

/// Of each kind of reaction, those to so many of the newest tweets count.
const MOST: usize = 300;

pub struct AffinityFinder {
    cache: AffinityCache,
    reactions: Reactions,
    tweets: Tweets,
    rule: AffinityRule,
}

/// What was found, and how many queries it took.
pub struct FoundAffinities {
    pub affinities: Affinities,
    pub queries: usize,
}

impl FoundAffinities {
    /// None, because they did not come in time; the tables were asked all the same.
    pub fn late() -> Self {
        Self {
            affinities: Affinities::default(),
            queries: Reaction::ALL.len(),
        }
    }
}

impl AffinityFinder {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            cache: AffinityCache::new(roost)?,
            reactions: Reactions::new(roost)?,
            tweets: Tweets::new(roost)?,
            rule: roost.config.affinity_rule()?,
        })
    }

    pub async fn find(&self, me: UserId) -> Result<FoundAffinities> {
        let cached = self.cache.get(me).await.unwrap_or_else(|error| {
            tracing::warn!(error = error.chain(), "affinities read from the tables");
            None
        });
        if let Some(affinities) = cached {
            return Ok(FoundAffinities {
                affinities,
                queries: 0,
            });
        }
        metrics::AFFINITY_MISSES.add(1);
        // Boxed, because it is rarely needed and would make the future of every read larger.
        let interactions = Box::pin(self.interactions(me)).await?;
        let affinities = Affinities::new(me, &interactions, &self.rule, now_millis());
        if let Err(error) = self.cache.store(me, &affinities).await {
            tracing::warn!(error = error.chain(), "affinities not cached");
        }
        Ok(FoundAffinities {
            affinities,
            queries: Reaction::ALL.len(),
        })
    }

    async fn interactions(&self, me: UserId) -> Result<Vec<Interaction>> {
        let marks = Reaction::MARKS.map(|kind| self.reactions.interactions(me, kind, MOST));
        let (mut interactions, replies) = tokio::try_join!(
            async { try_join_all(marks).await.map(|marks| marks.concat()) },
            self.tweets.newest(me, true, NEWEST, MOST)
        )?;
        let replies = replies.into_iter().filter_map(Post::tweet);
        interactions.extend(replies.filter_map(|reply| {
            Some(Interaction {
                author: reply.in_reply_to?.author_id,
                reaction: Reaction::Reply,
                at_millis: reply.id.millis(),
            })
        }));
        Ok(interactions)
    }
}
