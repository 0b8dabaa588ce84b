//! Fan-out receipts: what became of one tweet's delivery. `receipt:{t}`, one write per page of followers.
//!
//! A page that is repeated after a crash is counted again: a receipt says what was done, not how many people it reached.

use std::sync::LazyLock;

use redis::cmd;

use super::keys;
use crate::Result;
use crate::domain::TweetId;
use crate::domain::event::FanOutPage;
use crate::platform::Roost;
use crate::platform::redis::{Redis, Script};

const SECONDS: u64 = 7 * 24 * 3600;

static ADD: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/receipt_add.lua")));

#[derive(Clone)]
pub struct Receipts {
    redis: Redis,
}

/// What an explanation needs of a receipt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// How late the last follower had the tweet, so far.
    pub last_ms: Option<u64>,
    /// How late it was in its author's feed.
    pub feed_ms: Option<u64>,
}

impl Receipts {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// One page was served. `followers` is its size, `delivered` how many of them had a list, `late_ms` the tweet's age.
    pub async fn add(
        &self,
        page: &FanOutPage,
        followers: usize,
        delivered: usize,
        late_ms: u64,
    ) -> Result<()> {
        let served = [followers as u64, delivered as u64, page.depth.into()];
        self.tell(page.tweet_id, served, late_ms, false).await
    }

    /// All followers were served before the POST was answered, so that nothing is left for the stream.
    pub async fn at_once(
        &self,
        tweet: TweetId,
        followers: usize,
        delivered: usize,
        late_ms: u64,
    ) -> Result<()> {
        let served = [followers as u64, delivered as u64, 0];
        self.tell(tweet, served, late_ms, true).await
    }

    /// Whether [`Self::at_once`] was said of this tweet.
    pub async fn was_at_once(&self, tweet: TweetId) -> Result<bool> {
        let key = keys::receipt(tweet);
        self.redis
            .one(cmd("HEXISTS").arg(key).arg("at_once").take())
            .await
    }

    /// `served` is followers, deliveries and depth.
    async fn tell(
        &self,
        tweet: TweetId,
        served: [u64; 3],
        late_ms: u64,
        at_once: bool,
    ) -> Result<()> {
        let rest = [late_ms, SECONDS, at_once.into()];
        let arguments = served.into_iter().chain(rest);
        let arguments = arguments.map(|number| number.to_string().into_bytes());
        let call = (vec![keys::receipt(tweet)], arguments.collect());
        self.redis.tell_script(&ADD, [call]).await
    }

    /// One round trip: the receipts of these tweets.
    pub async fn of(&self, tweets: &[TweetId]) -> Result<Vec<Receipt>> {
        let reads = tweets.iter().map(|tweet| {
            cmd("HMGET")
                .arg(keys::receipt(*tweet))
                .arg(&["last_ms", "feed_ms"])
                .take()
        });
        let answers: Vec<(Option<u64>, Option<u64>)> =
            self.redis.run(reads.collect::<Vec<_>>()).await?;
        let receipts = answers.into_iter();
        Ok(receipts
            .map(|(last_ms, feed_ms)| Receipt { last_ms, feed_ms })
            .collect())
    }

    /// The tweet went to its author's feed, for all followers at once.
    pub async fn pulled(&self, tweet: TweetId, late_ms: u64) -> Result<()> {
        let key = keys::receipt(tweet);
        let set = cmd("HSET").arg(&key).arg("feed_ms").arg(late_ms).take();
        let expire = cmd("EXPIRE").arg(&key).arg(SECONDS).take();
        self.redis.tell([set, expire]).await
    }
}
