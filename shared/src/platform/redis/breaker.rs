//! A circuit breaker: keeps a Redis that is down from adding its timeout to every call.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long nothing is asked after a failure. Then one call may try, and the others wait for how it ends.
const COOL_DOWN: Duration = Duration::from_millis(500);

/// Open after a failure, closed after a success.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    open_until: Mutex<Option<Instant>>,
}

impl Breaker {
    /// May a call be made? While open, one call per cool-down may.
    pub(super) fn allows(&self, now: Instant) -> bool {
        let mut open_until = self
            .open_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match *open_until {
            Some(until) if now < until => false,
            Some(_) => {
                *open_until = Some(now + COOL_DOWN);
                true
            }
            None => true,
        }
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
    fn after_a_failure_one_call_per_cool_down_tries_until_one_succeeds() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        assert!(breaker.allows(start));
        breaker.failed(start);
        assert!(!breaker.allows(start + COOL_DOWN / 2));
        let later = start + COOL_DOWN;
        assert!(breaker.allows(later), "one may try");
        assert!(!breaker.allows(later), "the others wait");
        breaker.succeeded();
        assert!(breaker.allows(later));
    }
}
