//! How a client asks for a page: how many, and below which id.

use super::{TweetId, UserId};
use crate::{Error, Result};

/// How many items a page may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize(u8);

impl PageSize {
    pub const MAX: u8 = 100;
    pub const DEFAULT: Self = Self(20);
    pub const MAX_SIZE: Self = Self(Self::MAX);

    pub fn parse(text: &str) -> Result<Self> {
        text.parse()
            .ok()
            .filter(|size| (1..=Self::MAX).contains(size) && !text.starts_with('+'))
            .map(Self)
            .ok_or_else(|| Error::Malformed(format!("limit is a number from 1 to {}", Self::MAX)))
    }

    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// Where the page before ended: the last id on it. The next page holds what comes behind that id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(u64);

impl Cursor {
    pub fn parse(text: &str) -> Result<Self> {
        TweetId::parse(text).map(|id| Self(id.get())).map_err(|_| {
            Error::Malformed("a cursor is the next_cursor of the page before".to_owned())
        })
    }

    pub const fn tweet(self) -> TweetId {
        TweetId::new(self.0)
    }

    pub const fn user(self) -> UserId {
        UserId::new(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn limits_are_1_to_100(limit: u16) {
            prop_assert_eq!(PageSize::parse(&limit.to_string()).is_ok(), (1..=100).contains(&limit));
        }

        #[test]
        fn a_cursor_is_the_id_it_was_made_of(id in 1..u64::MAX / 2) {
            prop_assert_eq!(Cursor::parse(&id.to_string()).expect("an id").tweet(), TweetId::new(id));
        }
    }

    #[test]
    fn other_texts_are_no_limit_and_no_cursor() {
        for text in ["", "x", "+5", "-1", "5.0", "five", "٣"] {
            assert!(
                PageSize::parse(text).is_err(),
                "{text:?} was taken for a limit"
            );
            assert!(
                Cursor::parse(text).is_err(),
                "{text:?} was taken for a cursor"
            );
        }
    }
}
