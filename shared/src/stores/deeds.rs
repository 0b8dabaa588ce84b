//! What people did lately with the tweets of others, for the readers who follow them: the keys `deeds:{u}`.
//!
//! A key holds at most [`MOST`] deeds of each kind, for ten minutes. It is forgotten when its person reacts, replies or deletes
//! a tweet, so that the next reader finds what was done. A reader who fills it at that very moment may keep what was true
//! before, for ten minutes.

use redis::cmd;

use super::keys;
use crate::Result;
use crate::domain::activity::Deed;
use crate::domain::{Entry, Reaction, UserId};
use crate::platform::Roost;
use crate::platform::redis::Redis;

/// The most deeds of one kind that are kept.
pub const MOST: usize = 20;

const SECONDS: u64 = 600;

/// The bytes of a deed: of which kind it is, and its place.
const SIZE: usize = 1 + Entry::REPOST_SIZE;

#[derive(Clone)]
pub struct Deeds {
    redis: Redis,
}

impl Deeds {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// One round trip: what each of these people did; `None` if that is not kept.
    pub async fn of(&self, people: &[UserId]) -> Result<Vec<Option<Vec<Deed>>>> {
        let reads = people
            .iter()
            .map(|person| cmd("GET").arg(keys::deeds(*person)).take());
        let found: Vec<Option<Vec<u8>>> = self.redis.run(reads.collect::<Vec<_>>()).await?;
        Ok(found.into_iter().map(|it| decode(&it?)).collect())
    }

    /// Lets the next reader find what the person just did.
    pub async fn forget(&self, person: UserId) -> Result<()> {
        self.redis
            .tell([cmd("DEL").arg(keys::deeds(person)).take()])
            .await
    }

    /// One round trip.
    pub async fn store(&self, deeds: &[(UserId, Vec<Deed>)]) -> Result<()> {
        let writes = deeds.iter().map(|(person, deeds)| {
            cmd("SET")
                .arg(keys::deeds(*person))
                .arg(encode(deeds))
                .arg("EX")
                .arg(SECONDS)
                .take()
        });
        self.redis.tell(writes.collect::<Vec<_>>()).await
    }
}

const fn letter(reaction: Reaction) -> u8 {
    match reaction {
        Reaction::Like => b'l',
        Reaction::Reply => b'a',
        Reaction::Repost => b'r',
        Reaction::Hide => b'h',
    }
}

fn encode(deeds: &[Deed]) -> Vec<u8> {
    let deeds = deeds.iter().flat_map(|deed| {
        let kind = letter(deed.reaction);
        [vec![kind], deed.place.to_bytes()].concat()
    });
    deeds.collect()
}

/// What cannot be read counts as missing: it is read from the tables again.
fn decode(bytes: &[u8]) -> Option<Vec<Deed>> {
    let (deeds, rest) = bytes.as_chunks::<SIZE>();
    let read = |deed: &[u8; SIZE]| {
        let (kind, place) = deed.split_first()?;
        let mut kinds = Reaction::ALL.into_iter();
        Some(Deed {
            reaction: kinds.find(|reaction| letter(*reaction) == *kind)?,
            place: Entry::from_bytes(place).filter(|place| place.is_repost())?,
        })
    };
    let deeds: Option<Vec<Deed>> = deeds.iter().map(read).collect();
    deeds.filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TweetId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_is_read_again(ids in prop::collection::vec((1..1_u64 << 63, 1..1_u64 << 63, 0..3_usize), 0..20)) {
            let kinds = [Reaction::Like, Reaction::Reply, Reaction::Repost];
            let deeds: Vec<Deed> = ids.iter().map(|(id, author, kind)| {
                let tweet = Entry::new(TweetId::new(*id), UserId::new(*author));
                let place = Entry::new(TweetId::new(*author), UserId::new(*id));
                Deed { place: place.reposting(tweet.reference()), reaction: kinds[*kind] }
            }).collect();
            prop_assert_eq!(decode(&encode(&deeds)), Some(deeds));
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            decode(&bytes);
        }
    }
}
