//! Ids: Snowflakes without a coordinator.
//!
//! 63 bits, so that an id is positive wherever it is stored: 41 bits of milliseconds since [`EPOCH_MS`], 14 bits of
//! lane (which sandbox made it) and 8 bits of sequence. Sorting by id is sorting by time. The top bit stays free.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, Result};

/// 2026-01-01T00:00:00Z in milliseconds since 1970. Ids reach until 2095.
pub const EPOCH_MS: u64 = 1_767_225_600_000;

const LANE_BITS: u32 = 14;
const SEQUENCE_BITS: u32 = 8;
const TIME_SHIFT: u32 = LANE_BITS + SEQUENCE_BITS;
const MAX_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;
const MAX_ID: u64 = (1 << 63) - 1;

/// How many lanes there are; the counter that hands them out wraps here.
pub const LANES: u64 = 1 << LANE_BITS;

fn parse(text: &str, what: &str) -> Result<u64> {
    let canonical = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    text.parse()
        .ok()
        .filter(|id| canonical && (1..=MAX_ID).contains(id))
        .ok_or_else(|| Error::Malformed(format!("a {what} is a decimal number from 1 to {MAX_ID}")))
}

fn rfc3339(millis: u64) -> String {
    i64::try_from(millis)
        .ok()
        .and_then(DateTime::<Utc>::from_timestamp_millis)
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            pub const fn new(id: u64) -> Self {
                Self(id)
            }

            pub fn parse(text: &str) -> Result<Self> {
                parse(text, $what).map(Self)
            }

            pub const fn get(self) -> u64 {
                self.0
            }

            /// When it was made, in milliseconds since 1970.
            pub const fn millis(self) -> u64 {
                (self.0 >> TIME_SHIFT) + EPOCH_MS
            }

            /// The smallest id that can be made at this time.
            pub const fn first_at(millis: u64) -> Self {
                Self(millis.saturating_sub(EPOCH_MS) << TIME_SHIFT)
            }

            /// When it was made, as clients read it.
            pub fn created_at(self) -> String {
                rfc3339(self.millis())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        // JSON numbers lose bits beyond 2^53 in many clients, so ids travel as strings.
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(de::Error::custom)
            }
        }
    };
}

id!(
    /// A person.
    UserId,
    "user id"
);
id!(
    /// A tweet. Newer tweets have larger ids.
    TweetId,
    "tweet id"
);

/// Makes the ids of one sandbox. Never goes backwards and never repeats, whatever the clock does.
#[derive(Debug)]
pub struct IdMaker {
    lane: u64,
    last_millis: u64,
    sequence: u64,
}

impl IdMaker {
    /// `ticket` is any number that no other sandbox was given lately; it is reduced to a lane.
    pub const fn new(ticket: u64) -> Self {
        Self {
            lane: ticket % LANES,
            last_millis: 0,
            sequence: 0,
        }
    }

    pub fn next_id(&mut self, now_millis: u64) -> u64 {
        let now = now_millis.saturating_sub(EPOCH_MS);
        if now > self.last_millis {
            self.last_millis = now;
            self.sequence = 0;
        } else if self.sequence < MAX_SEQUENCE {
            self.sequence += 1;
        } else {
            // This millisecond is used up: borrow the next one rather than wait for it.
            self.last_millis += 1;
            self.sequence = 0;
        }
        (self.last_millis << TIME_SHIFT) | (self.lane << SEQUENCE_BITS) | self.sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = EPOCH_MS + 1_000_000;

    proptest! {
        #[test]
        fn ids_of_one_sandbox_only_grow(ticket: u64, clock in prop::collection::vec(NOW..NOW + 50, 1..2_000)) {
            let mut maker = IdMaker::new(ticket);
            let ids: Vec<u64> = clock.into_iter().map(|now| maker.next_id(now)).collect();
            prop_assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        }

        #[test]
        fn two_lanes_never_make_the_same_id(a in 0..LANES, b in 0..LANES, clock in prop::collection::vec(NOW..NOW + 5, 1..600)) {
            prop_assume!(a != b);
            let (mut left, mut right) = (IdMaker::new(a), IdMaker::new(b));
            for now in clock {
                prop_assert_ne!(left.next_id(now), right.next_id(now));
            }
        }

        #[test]
        fn an_id_knows_its_time(now in NOW..NOW + (1 << 40), ticket: u64) {
            let id = TweetId::new(IdMaker::new(ticket).next_id(now));
            prop_assert_eq!(id.millis(), now);
            prop_assert!(TweetId::first_at(now) <= id && id < TweetId::first_at(now + 1));
        }

        #[test]
        fn an_id_survives_json(id in 1..=MAX_ID) {
            let json = serde_json::to_string(&TweetId::new(id)).expect("ids serialize");
            prop_assert_eq!(&json, &format!("\"{id}\""));
            prop_assert_eq!(serde_json::from_str::<TweetId>(&json).expect("ids parse"), TweetId::new(id));
        }
    }

    #[test]
    fn only_canonical_decimal_numbers_are_ids() {
        for text in [
            "",
            "0",
            "-1",
            "+1",
            "01",
            "1.0",
            "1e3",
            " 1",
            "abc",
            "9223372036854775808",
            "18446744073709551616",
        ] {
            assert!(UserId::parse(text).is_err(), "{text:?} was taken for an id");
        }
        assert_eq!(
            UserId::parse("9223372036854775807").expect("the largest id"),
            UserId::new(MAX_ID)
        );
    }

    #[test]
    fn times_are_rfc_3339_in_utc() {
        assert_eq!(
            TweetId::first_at(EPOCH_MS + 1_234).created_at(),
            "2026-01-01T00:00:01.234Z"
        );
    }
}
