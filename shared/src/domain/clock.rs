//! The time that all sandboxes agree on.
//!
//! Ids hold the time at which they were made, and a list is read by rules about that time ([`super::timeline`]). So it
//! must be the same clock everywhere, or nearly. Each sandbox measures how far its own clock is from the shared one.

/// A longer answer says too little about the time at which it was given.
const LONGEST_TRIP_MS: u64 = 1_000;

/// AWS refuses requests that are signed with a clock which is more than this off. If ours seems to be, it is the shared
/// clock that is wrong.
const MOST_MS: i64 = 5 * 60 * 1_000;

/// How far the shared clock is ahead of this sandbox's own, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffset(i64);

impl ClockOffset {
    /// Out of one question: when it was asked and answered by our clock, and what the shared clock said in between.
    /// Wrong by half the time that it took, at the most. `None` if it took too long, or if the answer cannot be right.
    pub fn measured(asked_millis: u64, shared_millis: u64, answered_millis: u64) -> Option<Self> {
        let trip = answered_millis.checked_sub(asked_millis)?;
        let ours = i64::try_from(asked_millis + trip / 2).ok()?;
        let offset = i64::try_from(shared_millis).ok()?.checked_sub(ours)?;
        let believable = trip <= LONGEST_TRIP_MS && (-MOST_MS..=MOST_MS).contains(&offset);
        believable.then_some(Self(offset))
    }

    /// What the shared clock says when ours says this.
    pub const fn apply(self, our_millis: u64) -> u64 {
        our_millis.saturating_add_signed(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = 1_800_000_000_000;

    proptest! {
        #[test]
        fn a_measured_offset_is_wrong_by_half_the_trip_at_the_most(
            skew in -60_000..60_000_i64,
            there in 0..500_u64,
            back in 0..500_u64,
            later in 0..60_000_u64,
        ) {
            let ours = |real: u64| real.saturating_add_signed(skew);
            let offset = ClockOffset::measured(ours(NOW), NOW + there, ours(NOW + there + back));
            let offset = offset.expect("a believable offset");
            let error = offset.apply(ours(NOW + later)).abs_diff(NOW + later);
            prop_assert!(error <= (there + back) / 2 + 1, "{error}");
        }
    }

    #[test]
    fn what_cannot_be_right_is_not_believed() {
        let hour = 3_600_000;
        assert_eq!(ClockOffset::measured(NOW, NOW + hour, NOW + 1), None);
        assert_eq!(ClockOffset::measured(NOW, NOW - hour, NOW + 1), None);
        assert_eq!(
            ClockOffset::measured(NOW, NOW, NOW + 2_000),
            None,
            "took too long"
        );
        assert_eq!(
            ClockOffset::measured(NOW, NOW, NOW - 1),
            None,
            "set back meanwhile"
        );
    }
}
