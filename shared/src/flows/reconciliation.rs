//! Checking a tweet's counts against the reactions that they count.
//!
//! A reaction's row and the counter change in one transaction, so a difference is never a record on its way. But rows are
//! counted one partition after the other: if the tweet's version is the same before and after, nothing moved meanwhile, and
//! a difference is drift.

use crate::Result;
use crate::domain::{Entry, Reaction, ReactionCounts, UserId};
use crate::platform::Roost;
use crate::stores::tweets::{NEWEST, Post};
use crate::stores::{Reactors, TweetStats, Tweets};

/// Of so many of an author's newest tweets, and as many replies, one is checked, at random. To count all reactions to one
/// takes 36 queries, and more if there are very many.
const NEWEST_TWEETS: usize = 20;

pub struct ReactionReconciliation {
    tweets: Tweets,
    reactors: Reactors,
    stats: TweetStats,
}

impl ReactionReconciliation {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            tweets: Tweets::new(roost)?,
            reactors: Reactors::new(roost)?,
            stats: TweetStats::new(roost)?,
        })
    }

    /// Checks one of an author's newest tweets that somebody reacted to. `true` if its counts were wrong, and are right
    /// now.
    pub async fn check_one_of(&self, author: UserId) -> Result<bool> {
        let newest = |replies| self.tweets.newest(author, replies, NEWEST, NEWEST_TWEETS);
        let (tweets, replies) = tokio::try_join!(newest(false), newest(true))?;
        let newest = tweets.into_iter().chain(replies);
        let tweets = newest.filter_map(Post::tweet);
        let counted: Vec<_> = tweets.filter(|tweet| tweet.counts.version > 0).collect();
        match fastrand::choice(&counted) {
            Some(tweet) => self.check(tweet.entry(), tweet.counts).await,
            None => Ok(false),
        }
    }

    async fn check(&self, tweet: Entry, counts: ReactionCounts) -> Result<bool> {
        let count = |reaction| self.reactors.count(reaction, tweet.tweet);
        let (like_count, reply_count, repost_count) = tokio::try_join!(
            count(Reaction::Like),
            count(Reaction::Reply),
            count(Reaction::Repost)
        )?;
        let right = ReactionCounts {
            like_count,
            reply_count,
            repost_count,
            version: counts.version,
        };
        // If the version is still the same and a count differs. The table compares: a count below zero is shown as zero.
        if !self.tweets.set_counts(tweet, right).await? {
            return Ok(false);
        }
        tracing::warn!(tweet_id = %tweet.tweet, ?counts, ?right, "counts of a tweet drifted");
        let now = self.tweets.counts(&[tweet]).await?;
        self.stats.set(&now).await?;
        Ok(true)
    }
}
