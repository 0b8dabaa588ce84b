//! How close a reader is to authors, as it was computed within the last hour: the key `affinity:{u}`.
//!
//! It may be an hour old, so nobody has to tell it anything. Sixteen bytes for each author: the id, and the affinity as a
//! floating-point number.

use redis::cmd;

use super::keys;
use crate::Result;
use crate::domain::{Affinities, UserId};
use crate::platform::Roost;
use crate::platform::redis::Redis;

const SECONDS: u64 = 3_600;

#[derive(Clone)]
pub struct AffinityCache {
    redis: Redis,
}

impl AffinityCache {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// `None` if nothing is kept.
    pub async fn get(&self, user: UserId) -> Result<Option<Affinities>> {
        let get = cmd("GET").arg(keys::affinity(user)).take();
        let bytes: Option<Vec<u8>> = self.redis.one(get).await?;
        Ok(bytes.and_then(|bytes| decode(&bytes)))
    }

    pub async fn store(&self, user: UserId, affinities: &Affinities) -> Result<()> {
        let set = cmd("SET")
            .arg(keys::affinity(user))
            .arg(encode(affinities))
            .arg("EX")
            .arg(SECONDS)
            .take();
        self.redis.tell([set]).await
    }
}

fn encode(affinities: &Affinities) -> Vec<u8> {
    let pairs = affinities.iter();
    pairs
        .flat_map(|(author, affinity)| [author.get().to_be_bytes(), affinity.to_be_bytes()])
        .flatten()
        .collect()
}

/// What cannot be read counts as missing: it is computed again.
fn decode(bytes: &[u8]) -> Option<Affinities> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    let (pairs, odd) = numbers.as_chunks::<2>();
    let is_whole = rest.is_empty() && odd.is_empty();
    let read = |[author, affinity]: &[[u8; 8]; 2]| {
        let affinity = f64::from_be_bytes(*affinity);
        let author = UserId::new(u64::from_be_bytes(*author));
        (0.0..=1.0)
            .contains(&affinity)
            .then_some((author, affinity))
    };
    pairs
        .iter()
        .map(read)
        .collect::<Option<_>>()
        .filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_is_read_again(pairs in prop::collection::vec((any::<u64>(), 0.0..=1.0_f64), 0..20)) {
            let pairs = pairs.into_iter().map(|(author, affinity)| (UserId::new(author), affinity));
            let affinities: Affinities = pairs.collect();
            prop_assert_eq!(decode(&encode(&affinities)), Some(affinities));
        }

        #[test]
        fn what_cannot_be_read_is_missing(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(affinities) = decode(&bytes) {
                prop_assert!(affinities.iter().all(|(_, affinity)| (0.0..=1.0).contains(&affinity)));
            }
        }
    }
}
