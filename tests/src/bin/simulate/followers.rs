//! The ids of an author's followers. They are computed, not kept: a hundred million of them would not fit.
//!
//! A user's id is the time of sign-up, so ids lie as people came. Between two ids of one author's followers lie all the
//! people who do not follow that author.

use shared::domain::{FollowerRange, UserId};

/// What one year is in ids, about: milliseconds, with 22 bits below them.
const YEAR: f64 = 1.3e17;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// The same number on every day of a year.
    Evenly,
    /// In each eighth of the year nearly three times as many as in the one before.
    MostLately,
    /// One percent in the first half of the year, and the others within half a week.
    InOneWeek,
}

impl Spread {
    pub(crate) const ALL: [Self; 3] = [Self::Evenly, Self::MostLately, Self::InOneWeek];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Evenly => "evenly",
            Self::MostLately => "most of them lately",
            Self::InOneWeek => "nearly all in one week",
        }
    }

    /// Which part of the year has passed when this part of the followers has signed up.
    fn time_of(self, part: f64) -> f64 {
        match self {
            Self::Evenly => part,
            Self::MostLately => (part * 8_f64.exp_m1()).ln_1p() / 8.0,
            Self::InOneWeek if part < 0.01 => part * 50.0,
            Self::InOneWeek => 0.5 + (part - 0.01) * 0.01,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Followers {
    pub(crate) count: u64,
    spread: Spread,
}

impl Followers {
    pub(crate) fn new(count: u64, spread: Spread) -> Self {
        Self { count, spread }
    }

    /// The id of the follower with this number, from 0 on. Ids rise with numbers.
    pub(crate) fn id(&self, number: u64) -> UserId {
        let part = number as f64 / self.count as f64;
        UserId::new((self.spread.time_of(part) * YEAR) as u64 + number + 1)
    }

    /// The largest id, if there is a follower.
    pub(crate) fn last(&self) -> Option<UserId> {
        Some(self.id(self.count.checked_sub(1)?))
    }

    /// The numbers of the followers in a range: the first one, and the one behind the last.
    pub(crate) fn within(&self, range: FollowerRange) -> (u64, u64) {
        (
            self.first_above(range.after()),
            self.first_above(range.to()),
        )
    }

    /// The number of the first follower with a larger id.
    fn first_above(&self, id: UserId) -> u64 {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.id(middle) > id {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_and_a_range_finds_its_own() {
        for spread in Spread::ALL {
            let followers = Followers::new(10_000, spread);
            for number in 1..followers.count {
                assert!(
                    followers.id(number - 1) < followers.id(number),
                    "{spread:?}"
                );
            }
            let all = FollowerRange::up_to(followers.last().expect("followers"));
            assert_eq!(followers.within(all), (0, 10_000));
            let rest = all.rest_after(followers.id(6_999)).expect("a rest");
            assert_eq!(followers.within(rest), (7_000, 10_000));
        }
    }
}
