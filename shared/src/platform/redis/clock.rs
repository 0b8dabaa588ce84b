//! Redis' clock is the one that all sandboxes share. Each asks for it once a minute and knows from then on how far its own
//! clock is off.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::cmd;
use tokio::time::timeout;

use super::super::{Moment, now_millis};
use super::Redis;
use crate::domain::clock::ClockOffset;

/// How long a measurement is used.
const FRESH: Duration = Duration::from_secs(60);

/// How long we wait for the time. Without an answer, what was measured before counts, or else our own clock.
const PATIENCE: Duration = Duration::from_millis(200);

/// An offset that is worth a line in the log, in milliseconds.
const REMARKABLE_MS: u64 = 1_000;

/// What was measured last, and when.
#[derive(Default)]
pub(super) struct Clock(Mutex<Option<(Moment, ClockOffset)>>);

impl Clock {
    fn last(&self) -> Option<(Moment, ClockOffset)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, offset: ClockOffset) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((Moment::now(), offset));
    }
}

impl Redis {
    /// What the shared clock says when ours says this. Milliseconds since 1970.
    pub(crate) async fn shared_time(&self, our_millis: u64) -> u64 {
        let last = self.clock.last();
        if let Some((measured, offset)) = last
            && measured.elapsed() < FRESH
        {
            return offset.apply(our_millis);
        }
        let offset = match self.measure().await {
            Some(offset) => offset,
            None => last.map(|(_, offset)| offset).unwrap_or_default(),
        };
        self.clock.set(offset);
        let shared = offset.apply(our_millis);
        let off_by_ms = shared.abs_diff(our_millis);
        if off_by_ms >= REMARKABLE_MS {
            tracing::warn!(off_by_ms, "this sandbox's clock is wrong");
        }
        shared
    }

    async fn measure(&self) -> Option<ClockOffset> {
        let asked = now_millis();
        let answer = timeout(PATIENCE, self.one::<(u64, u64)>(cmd("TIME"))).await;
        let (seconds, micros) = answer.ok()?.ok()?;
        ClockOffset::measured(asked, seconds * 1_000 + micros / 1_000, now_millis())
    }
}
