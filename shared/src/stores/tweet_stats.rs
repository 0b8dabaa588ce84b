//! What Redis knows of a tweet that changes often: how many people reacted to it, `stats:{t}`.
//!
//! It stands beside `tweet:{t}`, in the same slot, so that a page reads both in one round trip. The fields are copied from
//! the tweet's row together with the row's version of its counts, and an older version never replaces a newer one.

use std::sync::LazyLock;

use redis::Value;

use super::keys;
use crate::Result;
use crate::domain::{ReactionCounts, TweetId};
use crate::platform::Roost;
use crate::platform::redis::{self as connection, Batch, Redis, Script};

/// Longer than the tweet beside it, so that the tweet is not read from the table for its counts alone.
const SECONDS: u64 = 30 * 3600;

static SET: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/set_versioned.lua")));

#[derive(Clone)]
pub struct TweetStats {
    redis: Redis,
}

impl TweetStats {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// Stores what the tweets' rows say, unless something newer is there.
    pub async fn set(&self, counts: &[(TweetId, ReactionCounts)]) -> Result<()> {
        let calls = counts.iter().map(|(tweet, counts)| {
            let arguments = [
                counts.version.to_string(),
                SECONDS.to_string(),
                "like_count".to_owned(),
                counts.like_count.to_string(),
                "reply_count".to_owned(),
                counts.reply_count.to_string(),
                "repost_count".to_owned(),
                counts.repost_count.to_string(),
            ];
            (
                vec![keys::stats(*tweet)],
                arguments.map(String::into_bytes).to_vec(),
            )
        });
        self.redis
            .tell_script(&SET, calls.collect::<Vec<_>>())
            .await
    }
}

/// Asks for the counts beside other things.
pub(super) fn ask(tweet: TweetId, reads: &mut Batch) {
    reads.add(&[
        b"HMGET",
        keys::stats(tweet).as_bytes(),
        b"version",
        b"like_count",
        b"reply_count",
        b"repost_count",
    ]);
}

/// The answer to [`ask`]; `None` if Redis does not know this tweet's counts.
pub(super) fn counts(answer: Value) -> Option<ReactionCounts> {
    let (version, like_count, reply_count, repost_count) = connection::read(answer).ok()?;
    Some(ReactionCounts {
        like_count,
        reply_count,
        repost_count,
        version,
    })
}
