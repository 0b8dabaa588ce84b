//! Noticing that a cache has lost writes that it acknowledged.
//!
//! A failover promotes a replica, and replication is asynchronous: the last writes before it may be gone. A canary is a
//! number in the cache that is raised again and again, and that never falls unless writes were lost. There are several,
//! spread over all shards.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The last height of each canary that the cache acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heights(BTreeMap<u16, u64>);

/// One canary was raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    pub canary: u16,
    /// Its height until now; `None` if it was not there.
    pub before: Option<u64>,
    pub now: u64,
}

impl Heights {
    /// `true` if the cache has forgotten a height that it acknowledged.
    ///
    /// A canary that is missing tells nothing: a cache that lost everything has nothing wrong in it.
    pub fn note(&mut self, raised: Raised) -> bool {
        let known = self.0.insert(raised.canary, raised.now);
        match (known, raised.before) {
            (Some(known), Some(before)) => before < known,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A cache with one canary, as the script behind it works.
    fn raise(cache: &mut Option<u64>, now_ms: u64) -> Raised {
        let before = *cache;
        let now = now_ms.max(before.map_or(0, |before| before + 1));
        *cache = Some(now);
        Raised {
            canary: 0,
            before,
            now,
        }
    }

    proptest! {
        // Two watchers overlap for a while, their clocks differ, and one of them may remember less.
        #[test]
        fn a_loss_is_noticed_by_everybody_who_raised_what_was_lost_and_nobody_cries_wolf(
            beats in prop::collection::vec((0..2_usize, 0..10_000_u64), 1..40),
            kept in 0..40_usize,
        ) {
            let (mut cache, mut watchers) = (None, [Heights::default(), Heights::default()]);
            let (mut states, mut last) = (vec![cache], [0; 2]);
            for (watcher, clock) in &beats {
                prop_assert!(!watchers[*watcher].note(raise(&mut cache, *clock)));
                states.push(cache);
                last[*watcher] = states.len() - 1;
            }
            // The cache goes back to an earlier state.
            let kept = kept.min(states.len() - 1);
            for (watcher, heights) in watchers.iter_mut().enumerate() {
                let mut replica = states[kept];
                let lost = last[watcher] > kept;
                let noticed = heights.note(raise(&mut replica, 0));
                prop_assert_eq!(noticed, lost && states[kept].is_some());
            }
        }
    }
}
