//! A range of follower ids, which the fan-out cuts in two as long as followers are left.

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

    /// Two disjoint ranges that together are this one; one if it cannot be cut.
    pub fn halves(self) -> Vec<Self> {
        let middle = UserId::new(self.after.get() + (self.to.get() - self.after.get()) / 2);
        [
            Self { to: middle, ..self },
            Self {
                after: middle,
                ..self
            },
        ]
        .into_iter()
        .filter(|half| half.after < half.to)
        .collect()
    }
}

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

    proptest! {
        #[test]
        fn every_follower_is_in_exactly_one_half(after in 0..u64::MAX / 2, size in 1..u64::MAX / 4, offset: u64) {
            let range = FollowerRange { after: UserId::new(after), to: UserId::new(after + size) };
            let id = after + 1 + offset % size;
            prop_assert_eq!(range.halves().into_iter().filter(|half| contains(*half, id)).count(), 1);
        }

        #[test]
        fn halves_stay_inside(after in 0..u64::MAX / 2, size in 1..u64::MAX / 4, outside: u64) {
            let range = FollowerRange { after: UserId::new(after), to: UserId::new(after + size) };
            prop_assume!(!contains(range, outside));
            prop_assert!(range.halves().into_iter().all(|half| !contains(half, outside)));
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
}
