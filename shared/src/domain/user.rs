//! A person and what their name may look like.

use serde::{Deserialize, Serialize};

use super::UserId;
use super::https_url::is_https_url;
use super::text::TextRule;
use crate::{Error, Result};

/// `@handle`: 1 to 15 letters, digits and underscores. Unique without regard to case, shown as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(String);

/// Handles that nobody gets: they would look like a part of Roost, or like a path.
const RESERVED: [&str; 36] = [
    "about",
    "account",
    "admin",
    "administrator",
    "api",
    "billing",
    "dev",
    "everyone",
    "explore",
    "handles",
    "help",
    "home",
    "info",
    "login",
    "logout",
    "me",
    "moderator",
    "news",
    "nobody",
    "notifications",
    "null",
    "official",
    "privacy",
    "roost",
    "root",
    "search",
    "security",
    "settings",
    "signup",
    "staff",
    "status",
    "support",
    "system",
    "tweets",
    "undefined",
    "users",
];

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

    /// A handle for somebody who signs up. Those who have a reserved one keep it.
    pub fn parse_new(text: &str) -> Result<Self> {
        let handle = Self::parse(text)?;
        if handle.is_reserved() {
            return Err(Error::Invalid(format!("the handle {text} is reserved")));
        }
        Ok(handle)
    }

    pub fn is_reserved(&self) -> bool {
        RESERVED.contains(&self.key().as_str())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What two spellings of the same handle have in common.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// What handles have in common that are looked for together: their first two characters. `None` for a handle of one
    /// character, which nobody can look for.
    pub fn group(&self) -> Option<String> {
        self.key().get(..HandlePrefix::MIN).map(str::to_owned)
    }
}

/// The beginning of a handle: 2 to 15 letters, digits and underscores, without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlePrefix(String);

impl HandlePrefix {
    /// Shorter beginnings fit too many people.
    pub const MIN: usize = 2;

    pub fn parse(text: &str) -> Result<Self> {
        match Handle::parse(text) {
            Ok(handle) if text.len() >= Self::MIN => Ok(Self(handle.key())),
            _ => Err(Error::Malformed(format!(
                "q is the beginning of a handle: {} to {} letters (a to z), digits or underscores",
                Self::MIN,
                Handle::MAX
            ))),
        }
    }

    /// In the spelling of [`Handle::key`].
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The group of handles in which to look: see [`Handle::group`].
    pub fn group(&self) -> &str {
        &self.0[..Self::MIN]
    }
}

/// The name a person goes by: 1 to 50 characters as a reader counts them, in at most 512 bytes of UTF-8. (One character
/// can have any number of accents.)
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DisplayName(String);

impl DisplayName {
    pub const MAX_BYTES: usize = 512;

    const RULE: TextRule = TextRule {
        field: "name",
        most: 50,
        most_bytes: Self::MAX_BYTES,
        lines: false,
    };

    pub fn parse(text: &str) -> Result<Self> {
        Self::RULE.require(text).map(Self)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a person says of themselves: up to 160 characters as a reader counts them, in at most 1,024 bytes of UTF-8. It
/// may have several lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bio(String);

impl Bio {
    pub const MAX_BYTES: usize = 1_024;

    const RULE: TextRule = TextRule {
        field: "bio",
        most: 160,
        most_bytes: Self::MAX_BYTES,
        lines: true,
    };

    /// `None` if nothing is left after trimming: that is no bio.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        Ok(Self::RULE.check(text)?.map(Self))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Where a person's picture is: an https URL of at most 2,048 bytes, of ASCII characters that need no escape. We never
/// fetch it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AvatarUrl(String);

impl AvatarUrl {
    pub const MAX_BYTES: usize = 2_048;

    pub fn parse(text: &str) -> Result<Self> {
        if text.len() <= Self::MAX_BYTES && is_https_url(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::Invalid(format!(
                "avatar_url is an https URL of at most {} bytes",
                Self::MAX_BYTES
            )))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a person changes of their profile. `None` leaves a field as it is; `Some(None)` removes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileChange {
    pub name: Option<DisplayName>,
    pub bio: Option<Option<Bio>>,
    pub avatar_url: Option<Option<AvatarUrl>>,
}

impl ProfileChange {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A user as clients read one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    pub id: UserId,
    pub handle: Handle,
    pub name: DisplayName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bio: Option<Bio>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar_url: Option<AvatarUrl>,
    pub created_at: String,
    pub follower_count: u64,
    pub following_count: u64,
    pub is_celebrity: bool,
}

/// What a caller and another person are to each other, from the caller's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Relationship {
    /// The caller follows them.
    pub following: bool,
    /// They follow the caller.
    pub followed_by: bool,
    /// The caller has muted them.
    pub muting: bool,
    /// The caller has blocked them.
    pub blocking: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    #[test]
    fn handles_differ_in_more_than_case() {
        let [a, b] = ["Alice_1", "aLICE_1"].map(|text| Handle::parse(text).expect("a handle"));
        assert_eq!(a.key(), b.key());
        assert_eq!(a.as_str(), "Alice_1");
    }

    #[test]
    fn a_prefix_is_looked_for_among_the_handles_of_its_group() {
        let handle = |text: &str| Handle::parse(text).expect("a handle");
        let prefix = HandlePrefix::parse("ALi").expect("a prefix");
        assert_eq!((prefix.as_str(), prefix.group()), ("ali", "al"));
        assert_eq!(handle("Alice").group().as_deref(), Some("al"));
        assert_eq!(handle("a").group(), None);
        for text in ["", "a", "ä", "a b", "@al", "al%", "sixteen_letters_"] {
            let parsed = HandlePrefix::parse(text);
            assert!(matches!(parsed, Err(Error::Malformed(_))), "{text:?}");
        }
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

    #[test]
    fn a_bio_is_counted_as_readers_count_and_may_have_lines() {
        let bio = |text: &str| Bio::parse(text).map(|bio| bio.map(|bio| bio.0));
        assert_eq!(
            bio(" first\nsecond ").expect("a bio"),
            Some("first\nsecond".to_owned())
        );
        for nothing in ["", "  ", "\n\t"] {
            assert_eq!(bio(nothing).expect("no bio"), None, "{nothing:?}");
        }
        for text in ["x".repeat(160), "é".repeat(160), "🐦".repeat(160)] {
            assert!(bio(&text).is_ok());
        }
        for text in ["x".repeat(161), "a\u{7}b".to_owned(), "a\r\nb".to_owned()] {
            assert!(bio(&text).is_err(), "{text:?} was taken for a bio");
        }
        let accents = |count| format!("a{}", "\u{301}".repeat(count));
        assert!(bio(&accents(511)).is_ok(), "1,023 bytes");
        assert!(bio(&accents(512)).is_err(), "1,025 bytes");
    }

    #[test]
    fn an_avatar_is_an_https_url() {
        for text in [
            "https://example.com",
            "https://cdn.example.com:8443/a/b_c~1.png?size=2&v=%20#top",
            "https://10.0.0.1/x",
        ] {
            assert!(AvatarUrl::parse(text).is_ok(), "{text} was refused");
        }
        for text in [
            "",
            "https://",
            "https:///a.png",
            "http://example.com/a.png",
            "HTTPS://example.com",
            "javascript:alert(1)",
            "data:image/png;base64,AAAA",
            "//example.com/a.png",
            "https://user:secret@example.com/",
            "https://me@example.com/",
            "https://example..com/",
            "https://example.com:x/",
            "https://example.com:/",
            "https://exämple.com/",
            "https://example.com/a b",
            "https://example.com/\"onload=",
            "https://example.com/\n",
            " https://example.com/",
        ] {
            assert!(
                AvatarUrl::parse(text).is_err(),
                "{text:?} was taken for one"
            );
        }
        let long = |bytes: usize| format!("https://example.com/{}", "a".repeat(bytes - 20));
        assert!(AvatarUrl::parse(&long(2_048)).is_ok());
        assert!(AvatarUrl::parse(&long(2_049)).is_err());
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
