//! What every text that people write has in common: it is trimmed, has no control characters, says something that can be
//! seen, and is bounded as a reader counts characters and in bytes.
//!
//! One character can have any number of accents, so counting characters alone would not bound anything.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

use crate::{Error, Result};

/// What one kind of text may be.
pub(super) struct TextRule {
    /// What errors call it.
    pub(super) field: &'static str,
    /// Characters as a reader counts them: grapheme clusters.
    pub(super) most: usize,
    /// Bytes of UTF-8.
    pub(super) most_bytes: usize,
    /// `true` if it may have several lines. They are separated by line feeds and nothing else.
    pub(super) lines: bool,
}

impl TextRule {
    /// The text without white space around it; `None` if nothing is left of it.
    pub(super) fn check(&self, text: &str) -> Result<Option<String>> {
        let (field, text) = (self.field, text.trim());
        if text.is_empty() {
            return Ok(None);
        }
        // Before the characters are counted, which takes longer the more bytes there are.
        if text.len() > self.most_bytes {
            let most = self.most_bytes;
            return invalid(format!(
                "{field} takes more than {most} bytes; use fewer accents or emoji"
            ));
        }
        if text.graphemes(true).nth(self.most).is_some() {
            return invalid(format!("{field} is longer than {} characters", self.most));
        }
        if text
            .chars()
            .any(|c| is_control(c) && !(self.lines && c == '\n'))
        {
            return invalid(if self.lines {
                format!("{field} must have no control characters; line feeds separate its lines")
            } else {
                format!("{field} must be on one line and have no control characters")
            });
        }
        if !text.chars().any(is_visible) {
            return invalid(format!("{field} has nothing in it that can be seen"));
        }
        Ok(Some(text.to_owned()))
    }

    /// Like [`Self::check`], for what has to be there.
    pub(super) fn require(&self, text: &str) -> Result<String> {
        let checked = self.check(text)?;
        let nothing = || format!("{} must not be empty or only white space", self.field);
        checked.ok_or_else(|| Error::Invalid(nothing()))
    }
}

fn invalid<T>(text: String) -> Result<T> {
    Err(Error::Invalid(text))
}

/// Control characters proper, and the two that separate lines and paragraphs.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Can a reader see this character by itself? Spaces, marks that need another character, and characters that only say how
/// others are shown cannot be seen. What is not assigned yet may be tomorrow's emoji.
fn is_visible(c: char) -> bool {
    !is_blank(c)
        && match c.general_category_group() {
            GeneralCategoryGroup::Mark | GeneralCategoryGroup::Separator => false,
            _ => !matches!(
                c.general_category(),
                GeneralCategory::Control | GeneralCategory::Format
            ),
        }
}

/// Letters and symbols that are shown as nothing, and what Unicode sets aside for more of the kind.
fn is_blank(c: char) -> bool {
    matches!(
        c,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' | '\u{1d159}' | '\u{2065}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RULE: TextRule = TextRule {
        field: "text",
        most: 20,
        most_bytes: 60,
        lines: true,
    };

    #[test]
    fn nothing_to_be_seen_is_no_text() {
        for text in [
            "\u{200b}",
            "\u{200b} \u{200b}",
            "\u{301}\u{302}",
            "\u{202e}",
            "\u{feff}",
            "\u{fe0f}",
            "\u{3164}",
            "\u{2800}\u{2800}",
            "\u{e0041}",
            "a\u{0}b",
            "a\u{7}b",
            "a\tb",
            "a\r\nb",
            "a\u{85}b",
            "a\u{2028}b",
        ] {
            assert!(RULE.require(text).is_err(), "{text:?} was taken for a text");
        }
    }

    #[test]
    fn what_can_be_seen_is_a_text_and_trimmed() {
        for text in [
            "a",
            ".",
            "1",
            "é",
            "e\u{301}",
            "ก็",
            "👩\u{200d}👧",
            "❤\u{fe0f}",
            "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
            "a\nb",
            "\u{200b}a",
            "\u{1f1e9}\u{1f1ea}",
        ] {
            let padded = format!(" \t\n{text}\u{a0}\r\n");
            assert_eq!(RULE.require(&padded).expect("a text"), text);
        }
        for nothing in ["", " ", "\r\n\t", "\u{3000}\u{a0}"] {
            assert_eq!(RULE.check(nothing).expect("no text"), None, "{nothing:?}");
            assert!(RULE.require(nothing).is_err());
        }
    }

    #[test]
    fn one_line_is_one_line() {
        let name = TextRule {
            lines: false,
            ..RULE
        };
        for text in ["a\nb", "a\u{2028}b", "a\u{b}b"] {
            assert!(name.require(text).is_err(), "{text:?} is on one line");
        }
        assert!(name.require("a b\n").is_ok(), "the end is trimmed");
    }

    proptest! {
        #[test]
        fn whatever_is_taken_is_bounded_trimmed_and_taken_again(text in "(?s).{0,40}") {
            if let Ok(Some(taken)) = RULE.check(&text) {
                prop_assert!((1..=20).contains(&taken.graphemes(true).count()));
                prop_assert!(taken.len() <= 60);
                prop_assert!(!taken.chars().any(|c| c.is_control() && c != '\n'));
                prop_assert_eq!(RULE.check(&taken).expect("a text"), Some(taken));
            }
        }
    }
}
