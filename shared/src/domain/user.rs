//! A person and what their name may look like.

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use super::UserId;
use crate::{Error, Result};

/// `@handle`: 1 to 15 letters, digits and underscores. Unique without regard to case, shown as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(String);

impl Handle {
    const MAX: usize = 15;

    pub fn parse(text: &str) -> Result<Self> {
        let fits = (1..=Self::MAX).contains(&text.len());
        let allowed = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if fits && allowed {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::Invalid(format!(
                "handle is 1 to {} letters (a to z), digits or underscores",
                Self::MAX
            )))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What two spellings of the same handle have in common.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// The name a person goes by: 1 to 50 characters as a reader counts them, in at most 512 bytes of UTF-8. (One character
/// can have any number of accents.)
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DisplayName(String);

impl DisplayName {
    const MAX: usize = 50;
    pub const MAX_BYTES: usize = 512;

    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.len() > Self::MAX_BYTES {
            return Err(Error::Invalid(format!(
                "name takes more than {} bytes; use fewer accents or emoji",
                Self::MAX_BYTES
            )));
        }
        let fits = (1..=Self::MAX).contains(&text.graphemes(true).count());
        if fits && !text.chars().any(char::is_control) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::Invalid(format!(
                "name is 1 to {} characters, not only white space, on one line",
                Self::MAX
            )))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A user as clients read one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    pub id: UserId,
    pub handle: Handle,
    pub name: DisplayName,
    pub created_at: String,
    pub follower_count: u64,
    pub following_count: u64,
    pub is_celebrity: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn handles_differ_in_more_than_case() {
        let [a, b] = ["Alice_1", "aLICE_1"].map(|text| Handle::parse(text).expect("a handle"));
        assert_eq!(a.key(), b.key());
        assert_eq!(a.as_str(), "Alice_1");
    }

    #[test]
    fn bad_characters_and_lengths_are_no_handle() {
        for text in [
            "",
            "a b",
            "ä",
            "a-b",
            "a.b",
            "@alice",
            "sixteen_letters_",
            "a\n",
            "{a}",
            "a#b",
        ] {
            assert!(
                Handle::parse(text).is_err(),
                "{text:?} was taken for a handle"
            );
        }
    }

    #[test]
    fn a_name_is_counted_as_readers_count() {
        assert!(DisplayName::parse(&"👍🏽".repeat(50)).is_ok());
        assert!(DisplayName::parse(&"👨‍👩‍👧‍👦".repeat(20)).is_ok());
        for text in ["", "   ", "\u{200b}\u{7}", "a\nb", &"x".repeat(51)] {
            assert!(
                DisplayName::parse(text).is_err(),
                "{text:?} was taken for a name"
            );
        }
        assert_eq!(
            DisplayName::parse("  Ada ").expect("a name").as_str(),
            "Ada"
        );
    }

    #[test]
    fn one_character_with_any_number_of_accents_is_no_name() {
        let accents = |count| format!("a{}", "\u{301}".repeat(count));
        let error = DisplayName::parse(&accents(14_000)).expect_err("28,001 bytes");
        assert!(error.to_string().contains("512 bytes"), "{error}");
        assert!(DisplayName::parse(&accents(255)).is_ok(), "511 bytes");
        assert!(DisplayName::parse(&accents(256)).is_err(), "513 bytes");
    }

    proptest! {
        #[test]
        fn whatever_is_a_name_is_short_in_characters_and_in_bytes(
            text in "\\PC{0,20}",
            accents in 0..400_usize,
            times in 1..10_usize,
        ) {
            let text = text.repeat(times) + &"\u{301}".repeat(accents);
            if let Ok(name) = DisplayName::parse(&text) {
                prop_assert!((1..=50).contains(&name.as_str().graphemes(true).count()));
                prop_assert!(name.as_str().len() <= 512);
            }
        }
    }
}
