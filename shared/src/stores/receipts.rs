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
        let arguments = [
            followers.to_string(),
            delivered.to_string(),
            page.depth.to_string(),
            late_ms.to_string(),
            SECONDS.to_string(),
        ];
        let call = (
            vec![keys::receipt(page.tweet_id)],
            arguments.map(String::into_bytes).to_vec(),
        );
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
