//! How long ago something was, in a sandbox that may have been frozen since.

use std::time::{Duration, Instant, SystemTime};

/// A point in time by two clocks: one of them may stand still while a sandbox is frozen, and the other may be set back.
#[derive(Clone, Copy, Debug)]
pub struct Moment(Instant, SystemTime);

impl Moment {
    pub fn now() -> Self {
        Self(Instant::now(), SystemTime::now())
    }

    /// What the clock says that has gone further.
    pub fn elapsed(self) -> Duration {
        let by_wall = self.1.elapsed().unwrap_or(Duration::ZERO);
        self.0.elapsed().max(by_wall)
    }

    /// For tests: as if the sandbox had been frozen for so long right after this, and one of the clocks with it.
    #[cfg(test)]
    pub(crate) fn before_a_freeze_of(self, time: Duration) -> Self {
        Self(self.0, self.1 - time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_freeze_counts_although_one_clock_stood_still() {
        assert!(Moment::now().before_a_freeze_of(HOUR).elapsed() >= HOUR);
    }

    #[test]
    fn a_wall_clock_that_is_set_back_makes_nothing_younger() {
        let now = Moment::now();
        let earlier = Instant::now().checked_sub(Duration::from_secs(5));
        let set_back = Moment(earlier.unwrap_or(now.0), now.1 + HOUR);
        assert!(earlier.is_none() || set_back.elapsed() >= Duration::from_secs(5));
    }
}
