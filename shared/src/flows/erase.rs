//! Removing what a deleted account has left, a piece at a time.
//!
//! Every piece is the first of what is left, so nothing has to be remembered between them, and one that is repeated
//! finds less to do. Others see nothing of the account meanwhile: readers drop tweets whose author has no profile.

use crate::Result;
use crate::domain::{Entry, TweetId, UserId};
use crate::runtime::aws::Aws;
use crate::runtime::config::Config;
use crate::stores::follows::Edge;
use crate::stores::tweets::Remains;
use crate::stores::{
    Cards, Celebs, Drifts, Follows, Identities, Receipts, Redis, Timelines, Tweets, Users,
};

/// Tweets or edges that go in one piece.
const PIECE: usize = 500;

pub struct Eraser {
    tweets: Tweets,
    follows: Follows,
    drifts: Drifts,
    identities: Identities,
    timelines: Timelines,
    celebs: Celebs,
    cards: Cards,
    receipts: Receipts,
}

impl Eraser {
    pub fn new(aws: &Aws, redis: Redis, config: &Config) -> Result<Self> {
        Ok(Self {
            tweets: Tweets::new(aws, config)?,
            follows: Follows::new(aws, config)?,
            drifts: Drifts::new(aws, config)?,
            identities: Identities::new(Users::new(aws, config)?, redis.clone()),
            timelines: Timelines::new(redis.clone(), config)?,
            celebs: Celebs::new(redis.clone()),
            cards: Cards::new(redis.clone()),
            receipts: Receipts::new(redis),
        })
    }

    /// Makes Redis forget who this is, so that the account is invisible there, too.
    pub async fn hide(&self, user: UserId, sub: &str) -> Result<()> {
        self.identities.bury(sub, user).await?;
        self.cards.forget_user(user).await
    }

    /// Removes the next piece, and says whether anything was left to remove.
    pub async fn next_piece(&self, user: UserId) -> Result<bool> {
        Ok(self.some_tweets(user).await?
            || self.some_followers(user).await?
            || self.some_following(user).await?)
    }

    /// What is left when everything else has gone.
    pub async fn last_piece(&self, user: UserId) -> Result<()> {
        self.drifts.forget(user).await?;
        self.cards.forget_user(user).await
    }

    async fn some_tweets(&self, author: UserId) -> Result<bool> {
        let tweets = self.tweets.remains(author, PIECE).await?;
        let entries: Vec<Entry> = tweets.iter().map(Remains::entry).collect();
        let ids: Vec<TweetId> = entries.iter().map(|entry| entry.tweet).collect();
        // Redis first: what has left the table is not found again.
        self.cards.bury_briefly(&entries).await?;
        self.receipts.forget(&ids).await?;
        self.tweets.erase(&tweets).await?;
        Ok(!tweets.is_empty())
    }

    async fn some_followers(&self, author: UserId) -> Result<bool> {
        let followers = self.follows.followers_page(author, None, PIECE).await?.ids;
        self.celebs.remove(&followers, author).await?;
        self.timelines
            .remove_author_from(&followers, author)
            .await?;
        let edges = followers
            .iter()
            .map(|follower| Edge::new(*follower, author));
        self.follows.erase(&edges.collect::<Vec<_>>()).await?;
        Ok(!followers.is_empty())
    }

    async fn some_following(&self, follower: UserId) -> Result<bool> {
        let following = self.follows.following_page(follower, None, PIECE).await?;
        let edges = following
            .ids
            .iter()
            .map(|followee| Edge::new(follower, *followee));
        self.follows.erase(&edges.collect::<Vec<_>>()).await?;
        Ok(!following.ids.is_empty())
    }
}
