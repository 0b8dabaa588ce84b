//! A range of follower ids, which the fan-out cuts in pieces as long as followers are left.
//!
//! Every hand-over costs a wait for the stream, so a range is cut into as many pieces at once as its followers need. How
//! many those are is a guess: ids are times of sign-up, and people do not sign up evenly. A piece that turns out to be
//! large is cut again, by what was found in it.

use serde::{Deserialize, Serialize};

use super::UserId;

/// The followers with ids in `(after, to]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowerRange {
    #[serde(with = "zero_is_an_id")]
    after: UserId,
    to: UserId,
}

impl FollowerRange {
    /// Everybody up to the author's largest follower id.
    pub const fn up_to(largest: UserId) -> Self {
        Self {
            after: UserId::new(0),
            to: largest,
        }
    }

    pub const fn after(&self) -> UserId {
        self.after
    }

    pub const fn to(&self) -> UserId {
        self.to
    }

    /// What is left when everybody up to `done` has been served; `None` when nobody is.
    pub fn rest_after(self, done: UserId) -> Option<Self> {
        let rest = Self {
            after: self.after.max(done),
            ..self
        };
        (rest.after < rest.to).then_some(rest)
    }

    /// About so many disjoint ranges that together are this one.
    pub fn pieces(self, count: u64) -> Vec<Self> {
        let span = self.to.get() - self.after.get();
        let count = count.clamp(1, span.max(1));
        let cut = |n: u64| {
            let offset = u128::from(span) * u128::from(n) / u128::from(count);
            UserId::new(self.after.get() + offset as u64)
        };
        let pieces = (0..count).map(|n| Self {
            after: cut(n),
            to: cut(n + 1),
        });
        pieces.filter(|piece| piece.after < piece.to).collect()
    }
}

/// What an invocation of the fan-out found in a range before it had served its share. The rest begins behind the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    pub count: u64,
    pub first: UserId,
}

/// How many followers are left, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// So many. The count of an author's followers is behind when many come at once.
    About(u64),
    /// This is a piece of what had so many in all.
    AtMost(u64),
    Unknown,
}

/// A count that is used up although followers are left was behind. So many times what was served may be left, at the most:
/// if it is more, pieces are cut again, and if it is a handful, few pieces are empty.
const BEHIND: u64 = 8;

impl Left {
    /// What is left of so many in all, or of a piece that has so many at the most.
    pub const fn of(in_all: Self, served: u64) -> Self {
        match in_all {
            Self::About(all) if all > served => Self::About(all - served),
            Self::AtMost(all) if all > served => Self::AtMost(all - served),
            Self::About(_) | Self::AtMost(_) => Self::AtMost(served.saturating_mul(BEHIND)),
            Self::Unknown => Self::Unknown,
        }
    }

    pub const fn number(self) -> Option<u64> {
        match self {
            Self::About(left) | Self::AtMost(left) => Some(left),
            Self::Unknown => None,
        }
    }

    /// The least and the most to reckon with.
    const fn bounds(self) -> (u64, u64) {
        match self {
            Self::About(left) => (left, left.saturating_mul(2)),
            Self::AtMost(left) => (0, left.saturating_mul(2)),
            Self::Unknown => (0, u64::MAX),
        }
    }
}

impl Served {
    /// How many followers the rest has, if they stand as close together as these.
    fn expected_in(self, rest: FollowerRange) -> u64 {
        let span = rest.after.get().saturating_sub(self.first.get()).max(1);
        let left = rest.to.get().saturating_sub(rest.after.get());
        let expected = u128::from(self.count) * u128::from(left) / u128::from(span);
        u64::try_from(expected).unwrap_or(u64::MAX)
    }

    /// Cuts what is left of a range, so that each piece is likely to have a page of followers at the most.
    pub fn cut(self, rest: FollowerRange, left: Left, page_size: u64) -> Vec<FollowerRange> {
        // A few who signed up together say nothing of how close the others stand, so what is known sets the bounds.
        let (least, most) = left.bounds();
        let expected = self.expected_in(rest).clamp(least, most);
        // Followers are not spread evenly. A piece that is a little too large costs a hand-over, one that is a little
        // too small costs nothing.
        let aim = (page_size * 4 / 5).max(1);
        rest.pieces(expected.div_ceil(aim).clamp(2, MOST_PIECES))
    }
}

/// So many pieces are handed over by one invocation at the most.
const MOST_PIECES: u64 = 500;

/// `after` may be 0, which no user has.
mod zero_is_an_id {
    use super::UserId;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(id: &UserId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<UserId, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map(UserId::new)
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contains(range: FollowerRange, id: u64) -> bool {
        range.after().get() < id && id <= range.to().get()
    }

    /// Serves everybody as the fan-out does, and gives how often each was served and how many hand-overs it took.
    fn served_by_pages(ids: &[u64], knows: bool, page_size: usize) -> (Vec<u64>, u32, usize) {
        let mut served = Vec::new();
        let (mut deepest, mut pages) = (0, 0);
        let largest = UserId::new(*ids.last().expect("followers"));
        let mut open = vec![(FollowerRange::up_to(largest), 0)];
        while let Some((range, depth)) = open.pop() {
            deepest = deepest.max(depth);
            pages += 1;
            let mine = ids.iter().filter(|id| contains(range, **id)).copied();
            let page: Vec<u64> = mine.take(page_size).collect();
            served.extend(&page);
            let (Some(first), Some(last)) = (page.first(), page.last()) else {
                continue;
            };
            let (first, last) = (UserId::new(*first), UserId::new(*last));
            let Some(rest) = range.rest_after(last).filter(|_| page.len() == page_size) else {
                continue;
            };
            let found = Served {
                count: page.len() as u64,
                first,
            };
            let others = (ids.len() - page.len()) as u64;
            let left = match depth {
                _ if !knows => Left::Unknown,
                0 => Left::About(others),
                _ => Left::AtMost(others),
            };
            let pieces = found.cut(rest, left, page_size as u64);
            open.extend(pieces.into_iter().map(|piece| (piece, depth + 1)));
        }
        served.sort_unstable();
        (served, deepest, pages)
    }

    proptest! {
        #[test]
        fn every_follower_is_in_exactly_one_piece(after in 0..u64::MAX / 2, size in 1..u64::MAX / 4, offset: u64, count in 0..600_u64) {
            let range = FollowerRange { after: UserId::new(after), to: UserId::new(after + size) };
            let id = after + 1 + offset % size;
            let pieces = range.pieces(count);
            prop_assert_eq!(pieces.iter().filter(|piece| contains(**piece, id)).count(), 1);
            prop_assert!(pieces.len() as u64 <= count.max(1));
        }

        #[test]
        fn pieces_stay_inside(after in 0..u64::MAX / 2, size in 1..u64::MAX / 4, outside: u64, count in 0..600_u64) {
            let range = FollowerRange { after: UserId::new(after), to: UserId::new(after + size) };
            prop_assume!(!contains(range, outside));
            prop_assert!(range.pieces(count).into_iter().all(|piece| !contains(piece, outside)));
        }

        #[test]
        fn everybody_is_served_once_however_ids_are_spread(
            ids in prop::collection::btree_set(prop_oneof![1..500_u64, 1..1_u64 << 62], 1..300),
            page_size in 1..40_usize,
            knows: bool,
        ) {
            let ids: Vec<u64> = ids.into_iter().collect();
            prop_assert_eq!(served_by_pages(&ids, knows, page_size).0, ids);
        }

        #[test]
        fn a_range_survives_json(after in 0..1_u64 << 62, size in 1..1_u64 << 62) {
            let range = FollowerRange { after: UserId::new(after), to: UserId::new(after + size) };
            let json = serde_json::to_string(&range).expect("ranges serialize");
            prop_assert_eq!(serde_json::from_str::<FollowerRange>(&json).expect("ranges parse"), range);
        }
    }

    #[test]
    fn nothing_is_left_when_the_last_follower_was_served() {
        let range = FollowerRange::up_to(UserId::new(9));
        assert_eq!(range.rest_after(UserId::new(9)), None);
        assert_eq!(
            range.rest_after(UserId::new(4)),
            Some(FollowerRange {
                after: UserId::new(4),
                to: UserId::new(9)
            })
        );
    }

    /// On a deployment, the three oldest of eight followers had signed up within a moment: 369 pieces were made of the rest.
    #[test]
    fn a_few_who_signed_up_together_do_not_make_hundreds_of_pieces() {
        let ids = [
            1_000, 1_001, 1_002, 5_000_000, 6_000_000, 7_000_000, 8_000_000, 9_000_000,
        ];
        let (served, _, pages) = served_by_pages(&ids, true, 3);
        assert_eq!(served, ids);
        assert!(pages <= 20, "{pages} pages for eight followers");
    }

    /// 5,000 follow within seconds, and are not counted yet: 500 pieces were made for the five who were left.
    #[test]
    fn a_count_that_is_behind_does_not_make_hundreds_of_pieces() {
        let found = Served {
            count: 5_000,
            first: UserId::new(1),
        };
        let rest = FollowerRange {
            after: UserId::new(5_000),
            to: UserId::new(1 << 60),
        };
        for counted in [3, 5_000] {
            let left = Left::of(Left::About(counted), found.count);
            let pieces = found.cut(rest, left, 5_000);
            assert!(pieces.len() <= 20, "{} pieces", pieces.len());
        }
    }

    #[test]
    fn many_followers_take_few_hand_overs_however_they_signed_up() {
        const FOLLOWERS: u64 = 20_000;
        const YEAR: f64 = 1.3e17;
        type Spread = fn(f64) -> f64;
        let spreads: [(&str, Spread); 4] = [
            ("evenly", |part| part),
            // Every eighth of the time, nearly three times as many as in the one before.
            ("most of them lately", |part| {
                (part * 8_f64.exp_m1()).ln_1p() / 8.0
            }),
            ("most of them long ago", |part| {
                1.0 - ((1.0 - part) * 8_f64.exp_m1()).ln_1p() / 8.0
            }),
            ("nearly all in one week", |part| {
                if part < 0.01 {
                    part * 50.0
                } else {
                    0.5 + part * 0.01
                }
            }),
        ];
        for (name, spread) in spreads {
            let ids = (0..FOLLOWERS).map(|n| {
                let part = n as f64 / FOLLOWERS as f64;
                (spread(part) * YEAR) as u64 + n + 1
            });
            let ids: Vec<u64> = ids.collect();
            let (served, hand_overs, _) = served_by_pages(&ids, true, 100);
            assert_eq!(served, ids, "{name}");
            assert!(hand_overs <= 3, "{name}: {hand_overs} hand-overs");
        }
    }
}
