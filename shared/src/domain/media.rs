//! Pictures and videos of a tweet, by URL.

use serde::{Deserialize, Serialize};

use super::https_url::HttpsUrl;
use super::text::TextRule;
use crate::{Error, Result};

/// One picture or video.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medium {
    #[serde(rename = "type")]
    pub kind: MediumKind,
    pub url: HttpsUrl,
    /// What it shows, for those who cannot see it: at most 1,000 characters as a reader counts them, in 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt: Option<Alt>,
}

/// What a medium shows, in words. It may have several lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Alt(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MediumKind {
    Image,
    Video,
}

impl Medium {
    /// The most that one tweet has.
    pub const MOST: usize = 4;
}

impl MediumKind {
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "image" => Ok(Self::Image),
            "video" => Ok(Self::Video),
            _ => Err(Error::Invalid(
                "the type of a medium is image or video".to_owned(),
            )),
        }
    }
}

impl Alt {
    const RULE: TextRule = TextRule {
        field: "alt",
        most: 1_000,
        most_bytes: 4 * 1_024,
        lines: true,
    };

    /// `None` if nothing is left after trimming: that is no description.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        Ok(Self::RULE.check(text)?.map(Self))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_medium_is_an_image_or_a_video() {
        for kind in ["image", "video"] {
            assert!(MediumKind::parse(kind).is_ok(), "{kind}");
        }
        for kind in ["", "gif", "Image", "image "] {
            assert!(MediumKind::parse(kind).is_err(), "{kind}");
        }
    }

    #[test]
    fn a_description_is_bounded_and_an_empty_one_is_none() {
        assert_eq!(Alt::parse(" ").expect("nothing"), None);
        assert!(Alt::parse(&"👩\u{200d}👧".repeat(300)).is_ok());
        let accents = format!("a{}", "\u{301}".repeat(2_048));
        for alt in ["x".repeat(1_001), accents, "a\u{0}b".to_owned()] {
            assert!(Alt::parse(&alt).is_err(), "{alt:?}");
        }
    }
}
