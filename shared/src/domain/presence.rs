//! When people read, by the hour, and who is therefore likely to read soon.
//!
//! Somebody who reads leaves one row an hour, in a slot. A slot is an hour and one of several buckets, so that the readers
//! of one hour do not all write to the same place. People have habits: those who were here at this hour yesterday or a week
//! ago are expected, and so are those of the next hour.

use std::fmt;

use chrono::DateTime;

use super::UserId;

const HOUR_MS: u64 = 3_600_000;
const DAY: u64 = 24;
const WEEK: u64 = 7 * DAY;

/// How long a row is kept, in hours. A week ago must still be there for the whole hour.
const KEPT: u64 = WEEK + DAY;

/// How long a row may outlive its time to live, in hours: DynamoDB removes it within a few days.
const OVERDUE: u64 = 3 * DAY;

/// Slots of one hour.
const BUCKETS: u64 = 16;

/// Where the readers of one hour are kept, or rather a part of them. Its text is like `2026-11-17T13#07`, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Since 1970.
    hour: u64,
    bucket: u64,
}

impl Slot {
    /// The slot of somebody who reads at this time.
    pub const fn of(user: UserId, now_millis: u64) -> Self {
        Self {
            hour: now_millis / HOUR_MS,
            bucket: user.mixed() / (u64::MAX / BUCKETS + 1),
        }
    }

    /// When its rows may go, in seconds since 1970.
    pub const fn expires_at(self) -> u64 {
        (self.hour + KEPT) * HOUR_MS / 1_000
    }

    /// Every slot in which there may be a row of this user, also one that should have expired, or that a clock made which is
    /// ahead of ours.
    pub fn all_of(user: UserId, now_millis: u64) -> impl Iterator<Item = Self> {
        let now = Self::of(user, now_millis);
        let hours = now.hour.saturating_sub(KEPT + OVERDUE)..=now.hour + 1;
        hours.map(move |hour| Self { hour, ..now })
    }

    fn all_in(hour: u64) -> impl Iterator<Item = Self> {
        (0..BUCKETS).map(move |bucket| Self { hour, bucket })
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begins = i64::try_from(self.hour * HOUR_MS).ok();
        let begins = begins
            .and_then(DateTime::from_timestamp_millis)
            .unwrap_or_default();
        write!(f, "{}#{:02}", begins.format("%Y-%m-%dT%H"), self.bucket)
    }
}

/// Seconds until the next hour begins; at least one.
pub const fn seconds_left(now_millis: u64) -> u64 {
    (HOUR_MS - now_millis % HOUR_MS).div_ceil(1_000)
}

/// The slots whose users are expected: first those of this hour, then those of the next one.
fn expected(now_millis: u64) -> impl Iterator<Item = Slot> {
    let now = now_millis / HOUR_MS;
    let hours = [now, now + 1]
        .into_iter()
        .flat_map(|hour| [DAY, WEEK].map(|ago| hour.saturating_sub(ago)));
    hours.flat_map(Slot::all_in)
}

/// How far somebody has come who goes through the users of a slot, in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub slot: Slot,
    /// The last user who was met; `None` at the beginning.
    pub after: Option<UserId>,
}

impl Place {
    pub const fn behind(self, user: UserId) -> Self {
        Self {
            after: Some(user),
            ..self
        }
    }

    /// What is left of a round through everybody who is expected, slot by slot. `stopped` is the text of the place where the
    /// last walk stopped. If nobody is expected there any more, a new round begins.
    pub fn rest_of_round(now_millis: u64, stopped: Option<&str>) -> Vec<Self> {
        let place = |slot| Self { slot, after: None };
        let mut round: Vec<Self> = expected(now_millis).map(place).collect();
        let goes_on = stopped.and_then(|stopped| {
            let (slot, user) = stopped.split_once('/')?;
            let number = round
                .iter()
                .position(|place| place.slot.to_string() == slot)?;
            Some((number, UserId::parse(user).ok()))
        });
        if let Some((number, after)) = goes_on {
            round.drain(..number);
            round[0].after = after;
        }
        round
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.slot)?;
        self.after.map_or(Ok(()), |user| user.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::super::{IdMaker, Lane};
    use super::*;

    /// 2026-11-17T13:20:00Z.
    const NOW: u64 = 1_794_921_600_000;
    const DAY_MS: u64 = DAY * HOUR_MS;
    const ADA: UserId = UserId::new(77);

    fn is_expected(user: UserId, read_at: u64, now: u64) -> bool {
        expected(now).any(|slot| slot == Slot::of(user, read_at))
    }

    #[test]
    fn a_slot_is_named_by_its_hour_and_its_bucket() {
        let name = Slot::of(ADA, NOW).to_string();
        assert!(name.starts_with("2026-11-17T13#"), "{name}");
        assert_eq!(name.len(), "2026-11-17T13#07".len());
    }

    #[test]
    fn those_are_expected_who_read_at_this_hour_or_the_next_yesterday_or_a_week_ago() {
        for ago in [DAY_MS, 7 * DAY_MS] {
            let then = NOW - ago;
            assert!(is_expected(ADA, then, NOW));
            assert!(is_expected(ADA, then + HOUR_MS, NOW), "the next hour");
            assert!(!is_expected(ADA, then - HOUR_MS, NOW), "too early");
            assert!(!is_expected(ADA, then + 2 * HOUR_MS, NOW), "too late");
        }
        for days in [0, 2, 3, 4, 5, 6, 8] {
            assert!(!is_expected(ADA, NOW - days * DAY_MS, NOW), "{days} days");
        }
    }

    #[test]
    fn those_of_this_hour_come_first() {
        let hours: Vec<u64> = expected(NOW).map(|slot| slot.hour).collect();
        let now = NOW / HOUR_MS;
        assert_eq!(hours.len(), 4 * 16);
        assert!(
            hours[..32]
                .iter()
                .all(|hour| now - hour == 24 || now - hour == 168)
        );
    }

    #[test]
    fn the_ids_of_sandboxes_that_make_one_user_each_use_all_buckets_alike() {
        let mut users: BTreeMap<u64, usize> = BTreeMap::new();
        for number in 0..16_000 {
            let mut ids = IdMaker::default();
            let made_at = NOW - number * 97_000;
            ids.use_lane(Lane::from(number * 31, made_at));
            let id = ids.next_id(made_at).expect("an id of the lane");
            *users
                .entry(Slot::of(UserId::new(id), NOW).bucket)
                .or_default() += 1;
        }
        assert_eq!(users.len(), 16);
        assert!(
            users.values().all(|count| (700..1_300).contains(count)),
            "{users:?}"
        );
    }

    #[test]
    fn a_walk_goes_on_where_it_stopped_and_begins_anew_when_that_is_over() {
        let round = Place::rest_of_round(NOW, None);
        let stopped = round[40].behind(ADA);
        let rest = Place::rest_of_round(NOW, Some(&stopped.to_string()));
        assert_eq!(rest[0], stopped);
        assert_eq!(rest[1..], round[41..]);
        // The slots of the next hour are those of this hour, an hour later.
        let later = Place::rest_of_round(NOW + HOUR_MS, Some(&stopped.to_string()));
        assert_eq!(later[0], stopped);
        let over = NOW + 2 * HOUR_MS;
        for gone in [stopped.to_string(), String::new(), "?/?".to_owned()] {
            assert_eq!(
                Place::rest_of_round(over, Some(&gone)),
                Place::rest_of_round(over, None)
            );
        }
        let between = round[40].to_string();
        assert_eq!(Place::rest_of_round(NOW, Some(&between)), round[40..]);
    }

    proptest! {
        #[test]
        fn a_row_lives_until_nobody_is_expected_by_it_any_more(
            user in 1..u64::MAX / 2,
            read_at in NOW..NOW + 30 * DAY_MS,
            later in 0..12 * DAY_MS,
        ) {
            let user = UserId::new(user);
            let expires_at = Slot::of(user, read_at).expires_at() * 1_000;
            let now = read_at + later;
            prop_assert!(!is_expected(user, read_at, now) || now < expires_at);
            prop_assert!(expires_at <= read_at + 8 * DAY_MS);
        }

        #[test]
        fn an_erasure_finds_the_rows_of_eight_days_and_of_those_that_are_overdue(
            user in 1..u64::MAX / 2,
            age in 0..11 * DAY_MS,
        ) {
            let user = UserId::new(user);
            let all: BTreeSet<String> = Slot::all_of(user, NOW).map(|slot| slot.to_string()).collect();
            prop_assert!(all.contains(&Slot::of(user, NOW - age).to_string()));
            prop_assert!(all.contains(&Slot::of(user, NOW + 60_000 * 45).to_string()));
            prop_assert!(all.len() < 300);
        }

        #[test]
        fn an_hour_is_over_when_its_seconds_are(now in 0..100 * DAY_MS) {
            let left = seconds_left(now);
            prop_assert!((1..=3_600).contains(&left));
            prop_assert_eq!((now + left * 1_000) / HOUR_MS, now / HOUR_MS + 1);
        }
    }
}
