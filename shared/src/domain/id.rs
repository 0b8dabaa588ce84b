//! Ids: Snowflakes without a coordinator.
//!
//! 63 bits, so that an id is positive wherever it is stored: 41 bits of milliseconds since [`EPOCH_MS`], 20 bits of
//! lane (which sandbox made it) and 2 bits of sequence. Sorting by id is sorting by time. The top bit stays free.
//!
//! A sandbox handles one request at a time and each takes longer than a millisecond, so four ids per millisecond are
//! plenty. If they are used up, the next millisecond is borrowed.
//!
//! A sandbox has a lane for a stretch of time only ([`Lane`]). Whoever has the same lane later has a later stretch, and
//! the time is part of the id. So two sandboxes never make the same id, however wrong their clocks are.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Error, Result};

/// 2026-01-01T00:00:00Z in milliseconds since 1970. Ids reach until 2095.
pub const EPOCH_MS: u64 = 1_767_225_600_000;

const LANE_BITS: u32 = 20;
const SEQUENCE_BITS: u32 = 2;
/// The bits of an id below its time.
pub const TIME_SHIFT: u32 = LANE_BITS + SEQUENCE_BITS;
const MAX_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;
const MAX_ID: u64 = (1 << 63) - 1;

/// An odd number without a pattern.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// How many lanes there are.
pub const LANES: u64 = 1 << LANE_BITS;

/// How long a sandbox has a lane. So a million cold starts in five minutes would use all lanes up.
pub const LANE_MS: u64 = 5 * 60 * 1_000;

fn parse(text: &str, what: &str) -> Result<u64> {
    let canonical = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    text.parse()
        .ok()
        .filter(|id| canonical && (1..=MAX_ID).contains(id))
        .ok_or_else(|| Error::Malformed(format!("a {what} is a decimal number from 1 to {MAX_ID}")))
}

/// A time in milliseconds since 1970, as clients read it.
pub fn rfc3339(millis: u64) -> String {
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

            /// All its bits, mixed into the highest ones. The lowest bits of ids are nearly always the same.
            pub const fn mixed(self) -> u64 {
                self.0.wrapping_mul(SPREAD)
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

/// The right to make ids: a number, and the times for which it is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    number: u64,
    /// Milliseconds since 1970, inclusive.
    from: u64,
    /// Exclusive.
    until: u64,
}

impl Lane {
    /// `number` is reduced to one of the [`LANES`].
    pub const fn from(number: u64, from_millis: u64) -> Self {
        Self {
            number: number % LANES,
            from: from_millis,
            until: from_millis + LANE_MS,
        }
    }

    pub const fn number(self) -> u64 {
        self.number
    }

    /// Milliseconds since 1970. Nobody else may have this lane between here and [`Self::ends`].
    pub const fn begins(self) -> u64 {
        self.from
    }

    pub const fn ends(self) -> u64 {
        self.until
    }
}

/// Makes the ids of one sandbox. Never goes backwards and never repeats, whatever the clock does.
#[derive(Debug, Default)]
pub struct IdMaker {
    lane: Option<Lane>,
    last_millis: u64,
    sequence: u64,
}

impl IdMaker {
    /// The next id, or `None` if it needs another lane: there is none yet, or its time is over.
    pub fn next_id(&mut self, now_millis: u64) -> Option<u64> {
        let (millis, sequence) = if now_millis > self.last_millis {
            (now_millis, 0)
        } else if self.sequence < MAX_SEQUENCE {
            (self.last_millis, self.sequence + 1)
        } else {
            // This millisecond is used up: borrow the next one rather than wait for it.
            (self.last_millis + 1, 0)
        };
        let lane = self
            .lane
            .filter(|lane| (lane.from..lane.until).contains(&millis))?;
        (self.last_millis, self.sequence) = (millis, sequence);
        let time = millis.saturating_sub(EPOCH_MS);
        Some((time << TIME_SHIFT) | (lane.number << SEQUENCE_BITS) | sequence)
    }

    /// From when on the next lane is needed.
    pub const fn lane_needed_from(&self, now_millis: u64) -> u64 {
        if now_millis > self.last_millis {
            now_millis
        } else {
            // A lane with a smaller number would make a smaller id in the millisecond of the last one.
            self.last_millis + 1
        }
    }

    pub fn use_lane(&mut self, lane: Lane) {
        self.lane = Some(lane);
        self.sequence = MAX_SEQUENCE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = EPOCH_MS + 1_000_000;

    /// Takes one of its lanes after the other, as it needs them.
    struct Sandbox {
        maker: IdMaker,
        lanes: std::iter::Cycle<std::vec::IntoIter<u64>>,
    }

    impl Sandbox {
        fn new(lanes: Vec<u64>) -> Self {
            Self {
                maker: IdMaker::default(),
                lanes: lanes.into_iter().cycle(),
            }
        }

        fn next_id(&mut self, now: u64) -> u64 {
            if let Some(id) = self.maker.next_id(now) {
                return id;
            }
            let number = self.lanes.next().expect("a lane");
            let from = self.maker.lane_needed_from(now);
            self.maker.use_lane(Lane::from(number, from));
            self.maker.next_id(now).expect("an id in a new lane")
        }
    }

    proptest! {
        // The clock jumps to and fro by up to twice the time for which a lane is good.
        #[test]
        fn ids_of_one_sandbox_only_grow(
            lanes in prop::collection::vec(any::<u64>(), 1..20),
            clock in prop::collection::vec(prop_oneof![NOW..NOW + 50, NOW..NOW + 2 * LANE_MS], 1..2_000),
        ) {
            let mut sandbox = Sandbox::new(lanes);
            let ids: Vec<u64> = clock.into_iter().map(|now| sandbox.next_id(now)).collect();
            prop_assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        }

        #[test]
        fn two_lanes_never_make_the_same_id(a in 0..LANES, b in 0..LANES, clock in prop::collection::vec(NOW..NOW + 5, 1..600)) {
            prop_assume!(a != b);
            let (mut left, mut right) = (Sandbox::new(vec![a]), Sandbox::new(vec![b]));
            for now in clock {
                prop_assert_ne!(left.next_id(now), right.next_id(now));
            }
        }

        // The second sandbox may have the lane only from the end of the first one's time on, by its own clock.
        #[test]
        fn two_sandboxes_on_one_lane_never_make_the_same_id(
            number: u64,
            left in prop::collection::vec(NOW..NOW + 2 * LANE_MS, 1..600),
            right in prop::collection::vec(NOW..NOW + 2 * LANE_MS, 1..600),
        ) {
            let first = Lane::from(number, NOW);
            let second = Lane::from(number, first.ends());
            let ids = |lane: Lane, clock: Vec<u64>| -> Vec<u64> {
                let mut maker = IdMaker::default();
                maker.use_lane(lane);
                clock.into_iter().filter_map(|now| maker.next_id(now)).collect()
            };
            let (left, right) = (ids(first, left), ids(second, right));
            prop_assert!(left.iter().all(|id| !right.contains(id)));
        }

        #[test]
        fn an_id_knows_its_time(now in NOW..NOW + (1 << 40), number: u64) {
            let id = TweetId::new(Sandbox::new(vec![number]).next_id(now));
            prop_assert_eq!(id.millis(), now);
            prop_assert!(TweetId::first_at(now) <= id && id < TweetId::first_at(now + 1));
            prop_assert!(id.get() <= MAX_ID);
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
