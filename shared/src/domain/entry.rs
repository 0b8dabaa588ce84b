//! One line of a cached timeline: which tweet, and whose. 16 bytes.
//!
//! The author travels along so that a reader can drop unfollowed authors and fetch user cards without looking the
//! tweet up first. Ids leave the top bit of each half free; the two bits say how the entry came into the list.
//!
//! No tweet has id 0, so entries with it mark the end of a list (see [`crate::domain::timeline::ListEnd`]).

use serde::Serialize;

use super::{TweetId, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    pub tweet: TweetId,
    pub author: UserId,
    pub origin: Origin,
}

/// How a reader came to an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Delivered to the list when it was posted.
    #[default]
    Pushed,
    /// Put into the list when its reader came back after a long time.
    Rebuilt,
    /// Put into the list when its author was followed, or ceased to be a celebrity.
    Backfilled,
    /// Read from the feed of a celebrity.
    Pulled,
    /// Read from the tables, below what the cache keeps.
    Deep,
}

const TOP_BIT: u64 = 1 << 63;

impl Entry {
    pub const SIZE: usize = 16;

    pub const fn new(tweet: TweetId, author: UserId) -> Self {
        Self {
            tweet,
            author,
            origin: Origin::Pushed,
        }
    }

    pub const fn by(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// Big endian. What is not in a list has no bits of its own and counts as pushed.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let (tweet, author) = match self.origin {
            Origin::Rebuilt => (0, TOP_BIT),
            Origin::Backfilled => (TOP_BIT, 0),
            Origin::Pushed | Origin::Pulled | Origin::Deep => (0, 0),
        };
        let (tweet, author) = (self.tweet.get() | tweet, self.author.get() | author);
        (u128::from(tweet) << 64 | u128::from(author)).to_be_bytes()
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let both = u128::from_be_bytes(bytes.try_into().ok()?);
        let (tweet, author) = ((both >> 64) as u64, both as u64);
        let origin = match (tweet & TOP_BIT, author & TOP_BIT) {
            // No tweet: the end of a list, which uses all bits for itself.
            _ if tweet == 0 => return Some(Self::new(TweetId::new(0), UserId::new(author))),
            (0, 0) => Origin::Pushed,
            (0, _) => Origin::Rebuilt,
            _ => Origin::Backfilled,
        };
        let entry = Self::new(
            TweetId::new(tweet & !TOP_BIT),
            UserId::new(author & !TOP_BIT),
        );
        Some(entry.by(origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(tweet: u64, author: u64) -> Entry {
        Entry::new(TweetId::new(tweet), UserId::new(author))
    }

    proptest! {
        #[test]
        fn an_entry_survives_its_bytes(
            tweet in 1..1_u64 << 63,
            author in 1..1_u64 << 63,
            origin in prop::sample::select(vec![Origin::Pushed, Origin::Rebuilt, Origin::Backfilled]),
        ) {
            let entry = entry(tweet, author).by(origin);
            prop_assert_eq!(Entry::from_bytes(&entry.to_bytes()), Some(entry));
        }

        #[test]
        fn the_end_of_a_list_survives_its_bytes(token: u64) {
            let end = entry(0, token);
            prop_assert_eq!(Entry::from_bytes(&end.to_bytes()), Some(end));
        }

        #[test]
        fn bytes_of_another_length_are_no_entry(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assume!(bytes.len() != Entry::SIZE);
            prop_assert_eq!(Entry::from_bytes(&bytes), None);
        }
    }
}
