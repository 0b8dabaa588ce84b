//! An address that clients load pictures and videos from.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// An absolute `https` URL of at most 2,048 bytes. Kept exactly as sent; Roost never loads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HttpsUrl(String);

impl HttpsUrl {
    pub const MAX_BYTES: usize = 2_048;

    /// `field` is what the error calls it.
    pub fn parse(field: &str, text: &str) -> Result<Self> {
        if text.len() <= Self::MAX_BYTES && is_https_url(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::Invalid(format!(
                "{field} is an https URL of at most {} bytes",
                Self::MAX_BYTES
            )))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `https://host`, perhaps with a port, a path, a query and a fragment. No name or password: they would be shown to everybody.
pub(super) fn is_https_url(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://") else {
        return false;
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let is_label = |label: &str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty() && label.bytes().all(allowed)
    };
    let is_port = |port: &str| {
        !port.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit())
    };
    host.split('.').all(is_label)
        && port.is_none_or(is_port)
        && tail
            .bytes()
            .all(|b| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_urls_with_a_host_are_taken() {
        for text in [
            "https://example.com/a.jpg",
            "https://example.com",
            "https://example.com:8443/a?b=c#d",
        ] {
            assert!(HttpsUrl::parse("url", text).is_ok(), "{text}");
        }
        for text in [
            "",
            "https://",
            "https:///a",
            "http://example.com/a.jpg",
            "javascript:alert(1)",
            "https://user@example.com",
            "https://example.com/a b",
            "https://example.com/ü",
            "https://example.com/\u{7}",
        ] {
            assert!(HttpsUrl::parse("url", text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_url_is_bounded_in_bytes() {
        let url = |bytes: usize| format!("https://example.com/{}", "a".repeat(bytes - 20));
        assert!(HttpsUrl::parse("url", &url(2_048)).is_ok());
        let error = HttpsUrl::parse("avatar_url", &url(2_049)).expect_err("too long");
        assert!(error.to_string().contains("avatar_url"), "{error}");
    }
}
