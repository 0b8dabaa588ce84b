//! How a client asks for a page: how many, and behind what.

use std::fmt;

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

/// Where the page of tweets before ended: the last id on it. The next page holds what comes behind that id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(u64);

impl Cursor {
    pub fn parse(text: &str) -> Result<Self> {
        TweetId::parse(text)
            .map(|id| Self(id.get()))
            .map_err(|_| Error::ForeignCursor)
    }

    pub const fn tweet(self) -> TweetId {
        TweetId::new(self.0)
    }
}

/// A place in a list of people: one of them, and whatever else the list is sorted by. As a cursor it says where the page
/// before ended. Clients see a text that means nothing to them, and no list takes the cursor of another one.
pub trait PeopleCursor: Copy + fmt::Display {
    fn parse(text: &str) -> Result<Self>;

    fn user(self) -> UserId;
}

/// A place in a list of followers, which is in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowerPlace(pub UserId);

/// A place in a list of followed people: the last followed first, then those of whom nobody knows when, by their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowedPlace {
    /// Followed at this time, in milliseconds since 1970.
    At(u64, UserId),
    /// Followed before the time was kept.
    Before(UserId),
}

impl PeopleCursor for FollowerPlace {
    fn parse(text: &str) -> Result<Self> {
        let digits = text.strip_prefix('r').ok_or(Error::ForeignCursor)?;
        Ok(Self(user(digits)?))
    }

    fn user(self) -> UserId {
        self.0
    }
}

impl PeopleCursor for FollowedPlace {
    fn parse(text: &str) -> Result<Self> {
        if let Some(digits) = text.strip_prefix('u') {
            return Ok(Self::Before(user(digits)?));
        }
        let digits = text.strip_prefix('t').ok_or(Error::ForeignCursor)?;
        let (at, id) = digits.split_at_checked(HEX).ok_or(Error::ForeignCursor)?;
        Ok(Self::At(hex(at)?, user(id)?))
    }

    fn user(self) -> UserId {
        match self {
            Self::At(_, user) | Self::Before(user) => user,
        }
    }
}

impl fmt::Display for FollowerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{:016x}", self.0.get())
    }
}

impl fmt::Display for FollowedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(at, user) => write!(f, "t{at:016x}{:016x}", user.get()),
            Self::Before(user) => write!(f, "u{:016x}", user.get()),
        }
    }
}

/// Digits of a number in a cursor.
const HEX: usize = 16;

/// A number that fits into 63 bits, as [`PeopleCursor`]s have it.
fn hex(digits: &str) -> Result<u64> {
    let canonical = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let number = Some(digits)
        .filter(|digits| digits.len() == HEX && digits.bytes().all(canonical))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .filter(|number| *number < 1 << 63);
    number.ok_or(Error::ForeignCursor)
}

fn user(digits: &str) -> Result<UserId> {
    hex(digits).map(UserId::new)
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

    proptest! {
        #[test]
        fn a_place_in_a_list_of_people_survives_its_text(id in 1..=u64::MAX / 2, at in 0..=u64::MAX / 2) {
            let user = UserId::new(id);
            let text = FollowerPlace(user).to_string();
            prop_assert_eq!(FollowerPlace::parse(&text).expect("a cursor"), FollowerPlace(user));
            prop_assert!(FollowedPlace::parse(&text).is_err());
            prop_assert!(Cursor::parse(&text).is_err());
            for place in [FollowedPlace::At(at, user), FollowedPlace::Before(user)] {
                let text = place.to_string();
                prop_assert_eq!(FollowedPlace::parse(&text).expect("a cursor"), place);
                prop_assert!(FollowerPlace::parse(&text).is_err());
                prop_assert!(Cursor::parse(&text).is_err());
            }
            // What cursors were in an earlier version.
            prop_assert!(FollowerPlace::parse(&id.to_string()).is_err());
            prop_assert!(FollowedPlace::parse(&id.to_string()).is_err());
        }

        #[test]
        fn no_text_breaks_a_cursor(text in "[rtu]?[0-9a-fA-Fx+é]{0,40}") {
            if let Ok(place) = FollowerPlace::parse(&text) {
                prop_assert_eq!(place.to_string(), text.clone());
            }
            if let Ok(place) = FollowedPlace::parse(&text) {
                prop_assert_eq!(place.to_string(), text);
            }
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
