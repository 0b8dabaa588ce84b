//! Binds a cursor to the one list that it is of. Without that, a cursor of somebody else's list would be taken for a place in
//! this one, and the scroll would go on at random or end without a word.
//!
//! It keeps nobody from making a cursor: whoever does is led to a page that they may read anyway.

use sha2::{Digest, Sha256};

use super::UserId;
use crate::{Error, Result};

/// Hexadecimal digits at the end of a cursor.
const DIGITS: usize = 8;

/// What clients get for a place in a list of this person.
pub fn seal(owner: UserId, place: &str) -> String {
    format!("{place}{}", checksum(owner, place))
}

/// The place, if the cursor is of a list of this person.
pub fn unseal(owner: UserId, cursor: &str) -> Result<&str> {
    let end = cursor.len().checked_sub(DIGITS);
    end.and_then(|end| cursor.split_at_checked(end))
        .filter(|(place, sum)| checksum(owner, place) == *sum)
        .map(|(place, _)| place)
        .ok_or(Error::ForeignCursor)
}

fn checksum(owner: UserId, place: &str) -> String {
    let digest = Sha256::new()
        .chain_update(owner.get().to_be_bytes())
        .chain_update(place);
    let digest = digest.finalize();
    let bytes = digest.iter().take(DIGITS / 2);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ADA: UserId = UserId::new(7);
    const BOB: UserId = UserId::new(8);

    proptest! {
        #[test]
        fn a_cursor_leads_its_own_list_to_its_place_and_no_other(place in "[a-z][0-9a-f.]{0,40}") {
            let cursor = seal(ADA, &place);
            prop_assert_eq!(unseal(ADA, &cursor).expect("a cursor"), place);
            prop_assert!(unseal(BOB, &cursor).is_err());
        }

        #[test]
        fn no_text_breaks_it(text in "\\PC{0,20}") {
            prop_assert!(unseal(ADA, &text).is_err());
        }
    }
}
