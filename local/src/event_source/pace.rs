//! When a shard is read.
//!
//! Lambda asks a Kinesis shard once a second and a table's stream four times a second, so every step of a chain of
//! functions costs a wait. Nobody wants that at a desk: by default writers wake the reader. For measurements and tests the
//! local cloud can poll as Lambda does (`ROOST_LAMBDA_POLLING`).

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout};
use uuid::Uuid;

use super::lanes::Lanes;

/// For a wake-up that was missed.
const IDLE_POLL: Duration = Duration::from_secs(1);

pub(crate) enum Pace {
    /// As soon as something is written.
    Woken(watch::Receiver<u64>),
    /// As often as Lambda does.
    Polled(Interval),
}

impl Pace {
    /// Polls from a moment of its own: the pollers of different shards know nothing of each other.
    pub(crate) fn polled(every: Duration) -> Self {
        let part = f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
        let mut ticks = interval_at(Instant::now() + every.mul_f64(part), every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Self::Polled(ticks)
    }

    /// Call it before each read: what is written during the read must wake the reader again.
    pub(crate) fn about_to_read(&mut self) {
        if let Self::Woken(written) = self {
            written.mark_unchanged();
        }
    }

    /// Waits for the next time to read, after a read that found so many records of a page.
    pub(crate) async fn next(&mut self, found: usize, page: usize, lanes: &Lanes) {
        match self {
            Self::Woken(written) if found == 0 => {
                let _ = timeout(IDLE_POLL, written.changed()).await;
            }
            Self::Woken(_) => {}
            Self::Polled(ticks) => {
                // A full page says that there is more, which Lambda reads at once.
                if found < page {
                    ticks.tick().await;
                }
                while lanes.all_busy() {
                    ticks.tick().await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::record::Record;
    use super::*;

    const PERIOD: Duration = Duration::from_millis(50);
    const PAGE: usize = 10;

    fn record() -> Record {
        Record {
            sequence: String::new(),
            partition: String::new(),
            arrived_ms: 0,
            event: Value::Null,
        }
    }

    #[tokio::test]
    async fn a_polled_shard_is_read_at_most_once_in_each_period() {
        let (lanes, _exits) = Lanes::new(1);
        let mut pace = Pace::polled(PERIOD);
        let started = Instant::now();
        for found in [0, PAGE - 1, 0, 1, 0] {
            pace.next(found, PAGE, &lanes).await;
        }
        // The first period may be cut short.
        assert!(started.elapsed() >= PERIOD * 4, "{:?}", started.elapsed());
    }

    #[tokio::test]
    async fn a_polled_shard_is_read_at_once_after_a_full_page() {
        let (lanes, _exits) = Lanes::new(1);
        let mut pace = Pace::polled(Duration::from_secs(3_600));
        let at_once = timeout(Duration::from_secs(30), pace.next(PAGE, PAGE, &lanes));
        at_once.await.expect("no wait for the next poll");
    }

    #[tokio::test]
    async fn a_polled_shard_is_not_read_while_all_its_lanes_are_busy() {
        let (lanes, exits) = Lanes::new(1);
        let mut pace = Pace::polled(PERIOD);
        lanes.send(record());
        let started = Instant::now();
        let handling = async {
            tokio::time::sleep(PERIOD * 3).await;
            exits[0].done(1);
        };
        let reading = async {
            pace.next(1, PAGE, &lanes).await;
            started.elapsed()
        };
        let ((), waited) = tokio::join!(handling, reading);
        assert!(waited >= PERIOD * 3, "{waited:?}");
    }

    #[tokio::test]
    async fn a_write_wakes_a_reader_that_does_not_poll() {
        let (lanes, _exits) = Lanes::new(1);
        let writer = watch::Sender::new(0);
        let mut pace = Pace::Woken(writer.subscribe());
        pace.about_to_read();
        writer.send_modify(|times| *times += 1);
        pace.next(0, PAGE, &lanes).await;
        let Pace::Woken(written) = &mut pace else {
            panic!("it polls");
        };
        // A reader that had slept to the end would not have seen the change.
        assert!(!written.has_changed().expect("a writer"));
    }
}
