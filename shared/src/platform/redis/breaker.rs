//! A circuit breaker: keeps a Redis that is down from adding its timeout to every call.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long nothing is asked after a failure.
const COOL_DOWN: Duration = Duration::from_millis(500);

/// Open after a failure; closed after a success, or when it has cooled down.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    open_until: Mutex<Option<Instant>>,
}

impl Breaker {
    /// May a call be made?
    ///
    /// After the cool-down every call may, not only the first one to come. Calls of one request that are made together are
    /// given up together: if the others were refused, the first would be cancelled before its answer came, every time.
    pub(super) fn allows(&self, now: Instant) -> bool {
        let open_until = self
            .open_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        open_until.is_none_or(|until| now >= until)
    }

    pub(super) fn succeeded(&self) {
        *self
            .open_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn failed(&self, now: Instant) {
        *self
            .open_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(now + COOL_DOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failure_nothing_is_asked_until_it_has_cooled_down() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        assert!(breaker.allows(start));
        breaker.failed(start);
        assert!(!breaker.allows(start + COOL_DOWN / 2));
        let later = start + COOL_DOWN;
        assert!(breaker.allows(later));
        breaker.failed(later);
        assert!(!breaker.allows(later), "it is still down");
        breaker.succeeded();
        assert!(breaker.allows(later));
    }

    /// `fill-timelines` asked two things at once, so that each sandbox that had met a slow Redis once refused all work.
    #[test]
    fn a_call_that_is_given_up_while_it_tries_keeps_no_other_out() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        breaker.failed(start);
        let later = start + COOL_DOWN;
        for _ in 0..2 {
            assert!(breaker.allows(later), "two calls that are made together");
        }
    }
}
