//! One line of a cached timeline: which tweet, and whose. 16 bytes, or 32 for a repost.
//!
//! The author travels along so that a reader can drop unfollowed authors and fetch user cards without looking the
//! tweet up first. A repost carries the original's id and author as well, for the same reason: so a reader knows what it
//! shows, and whose it is, before anything is fetched. Ids leave the top bit of each half free. In the first two halves, the
//! two bits say how the entry came into the list; in the last one, the bit says that the original is a reply.
//!
//! No tweet has id 0, so entries with it mark the end of a list (see [`crate::domain::timeline::ListEnd`]).

use serde::{Deserialize, Serialize};

use super::{TweetId, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// The entry's place in time: the tweet's id, or the repost's own.
    pub tweet: TweetId,
    pub author: UserId,
    pub kind: Kind,
    pub origin: Origin,
}

/// What stands at an entry's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A tweet of the author's, be it the first of a thread or a later one.
    #[default]
    Tweet,
    /// A reply to somebody else. It is never in a list, and the table keeps it apart from the author's other tweets.
    Reply,
    /// The author shows this tweet to their followers.
    Repost(TweetRef),
}

/// A tweet that another one refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TweetRef {
    pub tweet_id: TweetId,
    pub author_id: UserId,
    /// `true` if it is a reply to somebody else, which says where it is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_reply: bool,
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
    /// Brought by somebody who did something with it.
    Activity,
}

const TOP_BIT: u64 = 1 << 63;

impl TweetRef {
    pub const fn entry(self) -> Entry {
        let kind = if self.is_reply {
            Kind::Reply
        } else {
            Kind::Tweet
        };
        Entry {
            kind,
            ..Entry::new(self.tweet_id, self.author_id)
        }
    }
}

impl Entry {
    /// The bytes of a tweet's entry.
    pub const SIZE: usize = 16;
    /// The bytes of a repost's entry.
    pub const REPOST_SIZE: usize = 32;

    pub const fn new(tweet: TweetId, author: UserId) -> Self {
        Self {
            tweet,
            author,
            kind: Kind::Tweet,
            origin: Origin::Pushed,
        }
    }

    /// A repost of `original` by this entry's author.
    pub const fn reposting(self, original: TweetRef) -> Self {
        Self {
            kind: Kind::Repost(original),
            ..self
        }
    }

    pub const fn by(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// The tweet that a reader sees at this place: the original, if it is a repost.
    pub const fn shown(self) -> Self {
        match self.kind {
            Kind::Tweet | Kind::Reply => self,
            Kind::Repost(original) => original.entry(),
        }
    }

    /// The original, if this is a repost.
    pub const fn repost_of(self) -> Option<TweetRef> {
        match self.kind {
            Kind::Tweet | Kind::Reply => None,
            Kind::Repost(original) => Some(original),
        }
    }

    pub const fn is_repost(self) -> bool {
        self.repost_of().is_some()
    }

    /// How others refer to this tweet. A repost is no tweet: others refer to its original.
    pub const fn reference(self) -> TweetRef {
        match self.kind {
            Kind::Repost(original) => original,
            Kind::Tweet | Kind::Reply => TweetRef {
                tweet_id: self.tweet,
                author_id: self.author,
                is_reply: matches!(self.kind, Kind::Reply),
            },
        }
    }

    /// Big endian. What is not in a list has no bits of its own and counts as pushed.
    pub fn to_bytes(self) -> Vec<u8> {
        let (tweet, author) = match self.origin {
            Origin::Rebuilt => (0, TOP_BIT),
            Origin::Backfilled => (TOP_BIT, 0),
            Origin::Pushed | Origin::Pulled | Origin::Deep | Origin::Activity => (0, 0),
        };
        let mut bytes = Vec::with_capacity(Self::REPOST_SIZE);
        bytes.extend((self.tweet.get() | tweet).to_be_bytes());
        bytes.extend((self.author.get() | author).to_be_bytes());
        if let Some(original) = self.repost_of() {
            let mark = if original.is_reply { TOP_BIT } else { 0 };
            bytes.extend(original.tweet_id.get().to_be_bytes());
            bytes.extend((original.author_id.get() | mark).to_be_bytes());
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (halves, []) = bytes.as_chunks::<8>() else {
            return None;
        };
        let half = |index: usize| halves.get(index).map(|half| u64::from_be_bytes(*half));
        let (tweet, author) = (half(0)?, half(1)?);
        if tweet == 0 && halves.len() == 2 {
            // No tweet: the end of a list, which uses all bits for itself.
            return Some(Self::new(TweetId::new(0), UserId::new(author)));
        }
        let origin = match (tweet & TOP_BIT, author & TOP_BIT) {
            (0, 0) => Origin::Pushed,
            (0, _) => Origin::Rebuilt,
            _ => Origin::Backfilled,
        };
        let entry = Self::new(
            TweetId::new(tweet & !TOP_BIT),
            UserId::new(author & !TOP_BIT),
        )
        .by(origin);
        match (halves.len(), half(2), half(3)) {
            (2, ..) => Some(entry),
            (4, Some(tweet), Some(author)) => Some(entry.reposting(TweetRef {
                tweet_id: TweetId::new(tweet),
                author_id: UserId::new(author & !TOP_BIT),
                is_reply: author & TOP_BIT != 0,
            })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(tweet: u64, author: u64) -> Entry {
        Entry::new(TweetId::new(tweet), UserId::new(author))
    }

    fn originals() -> impl Strategy<Value = Option<TweetRef>> {
        let id = || 1..1_u64 << 63;
        let original = (id(), id(), any::<bool>()).prop_map(|(tweet, author, is_reply)| TweetRef {
            tweet_id: TweetId::new(tweet),
            author_id: UserId::new(author),
            is_reply,
        });
        prop::option::of(original)
    }

    proptest! {
        #[test]
        fn an_entry_survives_its_bytes(
            tweet in 1..1_u64 << 63,
            author in 1..1_u64 << 63,
            origin in prop::sample::select(vec![Origin::Pushed, Origin::Rebuilt, Origin::Backfilled]),
            original in originals(),
        ) {
            let entry = entry(tweet, author).by(origin);
            let entry = original.map_or(entry, |original| entry.reposting(original));
            let size = if original.is_some() { Entry::REPOST_SIZE } else { Entry::SIZE };
            prop_assert_eq!(entry.to_bytes().len(), size);
            prop_assert_eq!(Entry::from_bytes(&entry.to_bytes()), Some(entry));
        }

        #[test]
        fn the_end_of_a_list_survives_its_bytes(token: u64) {
            let end = entry(0, token);
            prop_assert_eq!(Entry::from_bytes(&end.to_bytes()), Some(end));
        }

        #[test]
        fn bytes_of_another_length_are_no_entry(bytes in prop::collection::vec(any::<u8>(), 0..48)) {
            prop_assume!(![Entry::SIZE, Entry::REPOST_SIZE].contains(&bytes.len()));
            prop_assert_eq!(Entry::from_bytes(&bytes), None);
        }
    }
}
