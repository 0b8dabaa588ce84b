//! What a client says it has already: the entity tags of `If-None-Match` (RFC 9110, 8.8.3 and 13.1.2).

/// Tags are compared weakly: whether one is weak makes no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownTags {
    /// `*`: the client has something, whatever its tag.
    Any,
    /// What stands between the quotes of each tag.
    These(Vec<String>),
}

impl KnownTags {
    /// What cannot be read matches nothing, and so does what comes after it.
    pub fn parse(header: &str) -> Self {
        if header.trim() == "*" {
            return Self::Any;
        }
        let (mut tags, mut rest) = (Vec::new(), header);
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            rest = rest.strip_prefix("W/").unwrap_or(rest);
            // A comma may be part of a tag, so the closing quote decides.
            let Some((tag, after)) = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'))
            else {
                return Self::These(tags);
            };
            tags.push(tag.to_owned());
            rest = after;
        }
    }

    /// Does the client have what has this tag?
    pub fn contain(&self, tag: &str) -> bool {
        match (self, Self::parse(tag)) {
            (Self::Any, _) => true,
            (Self::These(known), Self::These(tag)) => tag.iter().any(|tag| known.contains(tag)),
            (Self::These(_), Self::Any) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly_and_in_lists() {
        for header in [
            "W/\"a1\"",
            "\"a1\"",
            "  W/\"a1\"  ",
            "\"other\", W/\"a1\"",
            "\"x,y\",\"a1\"",
            "W/\"a1\",W/\"b2\"",
            ", ,\"a1\"",
            "*",
            " * ",
        ] {
            assert!(KnownTags::parse(header).contain("W/\"a1\""), "{header}");
        }
    }

    #[test]
    fn other_tags_and_other_texts_match_nothing() {
        for header in [
            "",
            "a1",
            "W/a1",
            "w/\"a1\"",
            "\"a1",
            "\"A1\"",
            "\"x,a1\"",
            "\"*\"",
            "nonsense, \"a1\"",
        ] {
            assert!(!KnownTags::parse(header).contain("W/\"a1\""), "{header}");
        }
    }
}
