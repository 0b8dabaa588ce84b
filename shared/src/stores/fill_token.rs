//! The right to fill something that is missing from Redis with what is read from the tables.
//!
//! It is a key that expires, and that everybody who changes the thing deletes. So what was read before a change is never
//! stored after it.

use std::fmt;

use redis::{Cmd, cmd};

use crate::Result;
use crate::platform::redis::Redis;

/// How long the right lasts.
const MILLISECONDS: u64 = 5_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillToken(u64);

impl FillToken {
    /// Takes the right, even if somebody else has it.
    pub(super) async fn seize(redis: &Redis, key: String) -> Result<Self> {
        let token = Self::random();
        let set = cmd("SET")
            .arg(key)
            .arg(token.0)
            .arg("PX")
            .arg(MILLISECONDS)
            .take();
        redis.tell([set]).await?;
        Ok(token)
    }

    /// Takes the right unless somebody else has it.
    pub(super) async fn take(redis: &Redis, key: String) -> Result<Option<Self>> {
        let token = Self::random();
        let taken: Option<String> = redis.one(token.set(key)).await?;
        Ok(taken.map(|_| token))
    }

    /// Like [`Self::take`] for many keys, in one round trip; the answers are in the order of the keys.
    pub(super) async fn take_each(redis: &Redis, keys: Vec<String>) -> Result<Vec<Option<Self>>> {
        let tokens: Vec<Self> = keys.iter().map(|_| Self::random()).collect();
        let sets = keys
            .into_iter()
            .zip(&tokens)
            .map(|(key, token)| token.set(key));
        let taken: Vec<Option<String>> = redis.run(sets.collect::<Vec<_>>()).await?;
        let tokens = tokens.into_iter().zip(taken);
        Ok(tokens.map(|(token, taken)| taken.map(|_| token)).collect())
    }

    /// The command that takes the right unless somebody else has it.
    fn set(self, key: String) -> Cmd {
        cmd("SET")
            .arg(key)
            .arg(self.0)
            .arg("NX")
            .arg("PX")
            .arg(MILLISECONDS)
            .take()
    }

    pub(super) fn random() -> Self {
        Self(fastrand::u64(..))
    }
}

impl fmt::Display for FillToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
