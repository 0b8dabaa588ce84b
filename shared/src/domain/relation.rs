//! What one person has decided about another.

use std::fmt;

use super::UserId;
use crate::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Nothing of the other person is in the home timeline.
    Mute,
    /// The same for both of them. Neither follows the other, and the other one cannot read the owner's tweets.
    Block,
}

impl Relation {
    pub const ALL: [Self; 2] = [Self::Mute, Self::Block];

    /// How many people one may have in each relation. Whoever may not be shown is read with every page.
    pub const MOST: u64 = 5_000;

    /// What one does to the other, for texts.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Mute => "mute",
            Self::Block => "block",
        }
    }

    /// The users whose home timeline a relation changes.
    pub fn readers(self, owner: UserId, other: UserId) -> Vec<UserId> {
        match self {
            Self::Mute => vec![owner],
            Self::Block => vec![owner, other],
        }
    }
}

/// One entry in a list of people, by the time when they came into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Related {
    pub at_ms: u64,
    pub other: UserId,
}

/// Where a page of such a list ended. Clients cannot read it, and each list has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelationCursor {
    relation: Relation,
    pub last: Related,
}

impl RelationCursor {
    /// Digits of the time and of the id, both hexadecimal.
    const DIGITS: (usize, usize) = (12, 16);

    pub const fn new(relation: Relation, last: Related) -> Self {
        Self { relation, last }
    }

    /// A cursor of the list of this relation.
    pub fn parse(relation: Relation, text: &str) -> Result<Self> {
        let read = || {
            let digits = text.strip_prefix(mark(relation))?;
            let (time, id) = digits.split_at_checked(Self::DIGITS.0)?;
            let last = Related {
                at_ms: hexadecimal(time)?,
                other: UserId::new(hexadecimal(id)?),
            };
            (id.len() == Self::DIGITS.1).then_some(Self { relation, last })
        };
        read().ok_or(Error::ForeignCursor)
    }
}

/// The first letter of a cursor says which list it belongs to.
const fn mark(relation: Relation) -> char {
    match relation {
        Relation::Mute => 'm',
        Relation::Block => 'b',
    }
}

fn hexadecimal(digits: &str) -> Option<u64> {
    let fit = digits
        .bytes()
        .all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
    u64::from_str_radix(digits, 16).ok().filter(|_| fit)
}

impl fmt::Display for RelationCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (time, id) = Self::DIGITS;
        let Related { at_ms, other } = self.last;
        write!(
            f,
            "{}{at_ms:0time$x}{:0id$x}",
            mark(self.relation),
            other.get()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn related() -> impl Strategy<Value = Related> {
        (0..1_u64 << 48, 1..1_u64 << 63).prop_map(|(at_ms, id)| Related {
            at_ms,
            other: UserId::new(id),
        })
    }

    proptest! {
        #[test]
        fn a_cursor_is_read_as_it_was_written(last in related()) {
            for relation in Relation::ALL {
                let cursor = RelationCursor::new(relation, last);
                let read = RelationCursor::parse(relation, &cursor.to_string());
                prop_assert_eq!(read.expect("a cursor"), cursor);
            }
        }
    }

    #[test]
    fn other_texts_are_no_cursor() {
        let good = format!("m{}", "0".repeat(28));
        assert!(RelationCursor::parse(Relation::Mute, &good).is_ok());
        for text in [
            "",
            "m",
            "1",
            "115601729126400257",
            &good[1..],
            &good[..28],
            &format!("{good}0"),
            &format!("b{}", &good[1..]),
            &good.replacen("00", "+1", 1),
            &good.replacen('0', "A", 1),
            &good.replacen("00", "é", 1),
        ] {
            let read = RelationCursor::parse(Relation::Mute, text);
            assert!(read.is_err(), "{text:?} was taken for a cursor");
        }
    }
}
