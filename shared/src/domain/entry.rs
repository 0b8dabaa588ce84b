//! One line of a cached timeline: which tweet, and whose. 16 bytes.
//!
//! The author travels along so that a reader can drop unfollowed authors and fetch user cards without looking the
//! tweet up first.
//!
//! No tweet has id 0, so entries with it mark the end of a list (see [`crate::domain::timeline::ListEnd`]).

use super::{TweetId, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    pub tweet: TweetId,
    pub author: UserId,
}

impl Entry {
    pub const SIZE: usize = 16;

    pub const fn new(tweet: TweetId, author: UserId) -> Self {
        Self { tweet, author }
    }

    /// Big endian, so that bytes sort like ids.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        (u128::from(self.tweet.get()) << 64 | u128::from(self.author.get())).to_be_bytes()
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [tweet, author] = [bytes.get(..8)?, bytes.get(8..Self::SIZE)?]
            .map(|half| half.try_into().map(u64::from_be_bytes));
        (bytes.len() == Self::SIZE).then_some(Self::new(
            TweetId::new(tweet.ok()?),
            UserId::new(author.ok()?),
        ))
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
        fn an_entry_survives_its_bytes(tweet: u64, author: u64) {
            let entry = entry(tweet, author);
            prop_assert_eq!(Entry::from_bytes(&entry.to_bytes()), Some(entry));
        }

        #[test]
        fn bytes_sort_like_ids(a: u64, b: u64, author: u64, other: u64) {
            prop_assume!(a != b);
            prop_assert_eq!(entry(a, author).to_bytes() < entry(b, other).to_bytes(), a < b);
        }

        #[test]
        fn bytes_of_another_length_are_no_entry(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assume!(bytes.len() != Entry::SIZE);
            prop_assert_eq!(Entry::from_bytes(&bytes), None);
        }
    }
}
