//! A tweet, what its text may be, and what a reader sees of it.

use serde::{Deserialize, Serialize};

use super::text::TextRule;
use super::{Entry, Kind, Medium, TweetId, TweetRef, UserId};
use crate::Result;

/// 1 to 280 characters as a reader counts them, in at most 4 KiB. It may have several lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TweetText(String);

impl TweetText {
    pub const MAX_BYTES: usize = 4 * 1024;

    const RULE: TextRule = TextRule {
        field: "text",
        most: 280,
        most_bytes: Self::MAX_BYTES,
        lines: true,
    };

    pub fn parse(text: &str) -> Result<Self> {
        Self::RULE.require(text).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A tweet, the same for every reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tweet {
    pub id: TweetId,
    pub author_id: UserId,
    pub text: TweetText,
    pub created_at: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "parent")]
    pub in_reply_to: Option<TweetRef>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Medium>,
    #[serde(flatten)]
    pub counts: ReactionCounts,
}

/// How often others reacted to a tweet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReactionCounts {
    pub like_count: u64,
    pub reply_count: u64,
    pub repost_count: u64,
    /// Grows with every change.
    #[serde(skip)]
    pub version: u64,
}

impl Tweet {
    pub fn new(id: TweetId, author_id: UserId, text: TweetText) -> Self {
        Self {
            id,
            author_id,
            text,
            created_at: id.created_at(),
            in_reply_to: None,
            media: Vec::new(),
            counts: ReactionCounts::default(),
        }
    }

    pub fn with_media(self, media: Vec<Medium>) -> Self {
        Self { media, ..self }
    }

    pub fn replying_to(self, in_reply_to: Option<TweetRef>) -> Self {
        Self {
            in_reply_to,
            ..self
        }
    }

    /// Where it stands. A reply to somebody else is for those who look at the conversation; one to oneself goes on with a
    /// thread and is a tweet like any other.
    pub fn entry(&self) -> Entry {
        let to_others = |parent: TweetRef| parent.author_id != self.author_id;
        let kind = if self.in_reply_to.is_some_and(to_others) {
            Kind::Reply
        } else {
            Kind::Tweet
        };
        Entry {
            kind,
            ..Entry::new(self.id, self.author_id)
        }
    }
}

/// What clients see of the tweet that is replied to.
fn parent<S: serde::Serializer>(
    parent: &Option<TweetRef>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Parent {
        tweet_id: TweetId,
        author_id: UserId,
    }
    let parent = parent.map(|parent| Parent {
        tweet_id: parent.tweet_id,
        author_id: parent.author_id,
    });
    parent.serialize(serializer)
}

/// A tweet as one reader sees it. This is what clients get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenTweet {
    #[serde(flatten)]
    pub tweet: Tweet,
    /// `true` if this reader likes it.
    pub liked: bool,
    /// `true` if this reader has reposted it.
    pub reposted: bool,
}

/// A tweet at its place in a timeline. At the place of a repost stands its original.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedTweet {
    #[serde(flatten)]
    pub seen: SeenTweet,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reposted_by: Option<RepostedBy>,
    /// What a cursor or a marker names: the tweet's id, or the repost's.
    #[serde(skip)]
    pub place: Entry,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepostedBy {
    pub user_id: UserId,
    pub at: String,
}

impl ListedTweet {
    pub fn new(place: Entry, seen: SeenTweet) -> Self {
        let reposted_by = place.is_repost().then(|| RepostedBy {
            user_id: place.author,
            at: place.tweet.created_at(),
        });
        Self {
            seen,
            reposted_by,
            place,
        }
    }

    /// The people whom this item names: the author, and the one who reposted it.
    pub fn people(&self) -> impl Iterator<Item = UserId> {
        [self.seen.tweet.author_id, self.place.author].into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    #[test]
    fn length_is_counted_in_graphemes() {
        for character in ["x", "é", "e\u{301}", "👍🏽"] {
            assert!(TweetText::parse(&character.repeat(280)).is_ok());
            assert!(TweetText::parse(&character.repeat(281)).is_err());
        }
        assert!(TweetText::parse(&"👨‍👩‍👧‍👦".repeat(160)).is_ok());
    }

    #[test]
    fn one_character_with_any_number_of_accents_is_no_tweet() {
        let accents = |count| format!("a{}", "\u{301}".repeat(count));
        let error = TweetText::parse(&accents(14_000)).expect_err("28,001 bytes");
        assert!(error.to_string().contains("4096 bytes"), "{error}");
        assert!(TweetText::parse(&accents(2_047)).is_ok(), "4,095 bytes");
        assert!(TweetText::parse(&accents(2_048)).is_err(), "4,097 bytes");
    }

    proptest! {
        #[test]
        fn whatever_is_a_text_is_short_in_characters_and_in_bytes(
            text in "\\PC{0,40}",
            accents in 0..3_000_usize,
            times in 1..200_usize,
        ) {
            let text = text.repeat(times) + &"\u{301}".repeat(accents);
            let trimmed = text.trim();
            let (characters, bytes) = (trimmed.graphemes(true).count(), trimmed.len());
            if TweetText::parse(&text).is_ok() {
                prop_assert!((1..=280).contains(&characters) && bytes <= 4_096);
            } else if trimmed.contains(|c: char| c.is_ascii_graphic()) {
                prop_assert!(characters > 280 || bytes > 4_096, "{} characters, {} bytes", characters, bytes);
            }
        }
    }

    #[test]
    fn white_space_alone_is_no_tweet_and_goes_around_one() {
        for text in ["", " ", "\n\t", "\u{3000}\u{a0}"] {
            assert!(
                TweetText::parse(text).is_err(),
                "{text:?} was taken for a text"
            );
        }
        let text = TweetText::parse(" two\nlines ").expect("a text");
        assert_eq!(text.as_str(), "two\nlines");
    }
}
