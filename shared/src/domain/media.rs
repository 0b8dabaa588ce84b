//! Pictures and videos of a tweet, by URL.

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use super::https_url::HttpsUrl;
use crate::{Error, Result};

/// The most that one tweet has.
const MOST: usize = 4;
const ALT_MAX: usize = 1_000;
const ALT_MAX_BYTES: usize = 4 * 1_024;

/// One picture or video.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Medium {
    #[serde(rename = "type")]
    pub kind: MediumKind,
    pub url: HttpsUrl,
    /// What it shows, for those who cannot see it: at most 1,000 characters as a reader counts them, in 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MediumKind {
    Image,
    Video,
}

/// What a client sent and nobody has checked yet.
#[derive(Clone, Debug, Deserialize)]
pub struct UncheckedMedium {
    #[serde(rename = "type")]
    pub kind: String,
    pub url: String,
    #[serde(default)]
    pub alt: Option<String>,
}

impl Medium {
    /// The media of one tweet.
    pub fn parse_all(media: Vec<UncheckedMedium>) -> Result<Vec<Self>> {
        if media.len() > MOST {
            return Err(Error::Invalid(format!("media has more than {MOST} items")));
        }
        media.into_iter().map(Self::parse).collect()
    }

    fn parse(medium: UncheckedMedium) -> Result<Self> {
        let kind = match medium.kind.as_str() {
            "image" => MediumKind::Image,
            "video" => MediumKind::Video,
            _ => {
                return Err(Error::Invalid(
                    "the type of a medium is image or video".to_owned(),
                ));
            }
        };
        let url = HttpsUrl::parse("the url of a medium", medium.url)?;
        let alt = medium.alt.filter(|alt| !alt.trim().is_empty());
        let too_long =
            |alt: &String| alt.len() > ALT_MAX_BYTES || alt.graphemes(true).nth(ALT_MAX).is_some();
        if alt.as_ref().is_some_and(too_long) {
            return Err(Error::Invalid(format!(
                "the alt of a medium is longer than {ALT_MAX} characters or {ALT_MAX_BYTES} bytes"
            )));
        }
        Ok(Self { kind, url, alt })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn medium(kind: &str, url: &str, alt: Option<String>) -> UncheckedMedium {
        UncheckedMedium {
            kind: kind.to_owned(),
            url: url.to_owned(),
            alt,
        }
    }

    const URL: &str = "https://example.com/nest.jpg";

    #[test]
    fn a_tweet_has_at_most_four_media() {
        let media = |count| vec![medium("image", URL, None); count];
        assert_eq!(Medium::parse_all(media(4)).expect("four").len(), 4);
        assert!(Medium::parse_all(media(5)).is_err());
    }

    #[test]
    fn a_medium_is_an_image_or_a_video_with_an_https_url() {
        for (kind, url, alt) in [
            ("gif", URL, None),
            ("image", "http://example.com/nest.jpg", None),
            ("video", URL, Some("x".repeat(1_001))),
            ("video", URL, Some(format!("a{}", "\u{301}".repeat(2_048)))),
        ] {
            let parsed = Medium::parse_all(vec![medium(kind, url, alt)]);
            assert!(parsed.is_err(), "{parsed:?}");
        }
        let alt = Some("👩‍👧".repeat(300));
        assert!(Medium::parse_all(vec![medium("video", URL, alt)]).is_ok());
    }

    #[test]
    fn an_empty_description_is_none() {
        let media = Medium::parse_all(vec![medium("image", URL, Some(" ".to_owned()))]);
        assert_eq!(media.expect("an image")[0].alt, None);
    }
}
