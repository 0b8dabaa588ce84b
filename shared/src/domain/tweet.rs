//! A tweet and what its text may be.

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use super::{TweetId, UserId};
use crate::{Error, Result};

/// 1 to 280 characters as a reader counts them (grapheme clusters), not only white space. Kept exactly as sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TweetText(String);

impl TweetText {
    const MAX: usize = 280;

    pub fn parse(text: String) -> Result<Self> {
        if text.trim().is_empty() {
            return Err(Error::Invalid(
                "text must not be empty or only white space".to_owned(),
            ));
        }
        if text.graphemes(true).nth(Self::MAX).is_some() {
            return Err(Error::Invalid(format!(
                "text is longer than {} characters",
                Self::MAX
            )));
        }
        Ok(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A tweet as clients read one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tweet {
    pub id: TweetId,
    pub author_id: UserId,
    pub text: TweetText,
    pub created_at: String,
}

impl Tweet {
    pub fn new(id: TweetId, author_id: UserId, text: TweetText) -> Self {
        Self {
            id,
            author_id,
            text,
            created_at: id.created_at(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_counted_in_graphemes() {
        let family = "👨‍👩‍👧‍👦";
        assert!(TweetText::parse(family.repeat(280)).is_ok());
        assert!(TweetText::parse(family.repeat(281)).is_err());
        assert!(TweetText::parse("e\u{301}".repeat(280)).is_ok());
    }

    #[test]
    fn white_space_alone_is_no_tweet() {
        for text in ["", " ", "\n\t", "\u{3000}\u{a0}"] {
            assert!(
                TweetText::parse(text.to_owned()).is_err(),
                "{text:?} was taken for a text"
            );
        }
        assert_eq!(
            TweetText::parse(" hi ".to_owned())
                .expect("a text")
                .as_str(),
            " hi "
        );
    }
}
