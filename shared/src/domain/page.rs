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

/// Which things are asked for by their ids: 1 to 100, in the order asked, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdList<T>(Vec<T>);

impl<T: PartialEq> IdList<T> {
    pub const MAX: usize = 100;

    /// Ids with commas between them, each read by `parse`.
    pub fn parse(text: &str, parse: impl Fn(&str) -> Result<T>) -> Result<Self> {
        // Counted before they are read: no request makes us read more.
        if text.split(',').nth(Self::MAX).is_some() {
            return Err(Error::Malformed(format!(
                "ids has at most {} ids",
                Self::MAX
            )));
        }
        let mut ids = Vec::new();
        for id in text.split(',') {
            let id = parse(id)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(Self(ids))
    }

    pub fn as_slice(&self) -> &[T] {
        &self.0
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
    fn a_list_of_ids_keeps_its_order_and_has_each_once() {
        let list = |text: &str| IdList::parse(text, TweetId::parse);
        let ids = list("30,10,30,20,10").expect("a list");
        assert_eq!(ids.as_slice(), [30, 10, 20].map(TweetId::new));
        let many = |count: usize| vec!["7"; count].join(",");
        assert_eq!(list(&many(100)).expect("a list").as_slice().len(), 1);
        for text in [&many(101), "", ",", "1,", ",1", "1,,2", "1, 2", "1;2", "x"] {
            assert!(list(text).is_err(), "{text:?} was taken for a list of ids");
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
