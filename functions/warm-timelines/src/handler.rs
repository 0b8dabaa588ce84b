use std::time::Duration;

use shared::domain::presence::Place;
use shared::flows::warming::{Warmed, Warming};
use shared::platform::{metrics, now_millis};
use shared::runtime::schedule::Job;
use shared::stores::{Positions, Presence};
use shared::{Result, Roost};
use tokio::time::{Instant, sleep_until};

/// Under which name the position is remembered.
const JOB: &str = "warm-timelines";

/// Expected users that one run looks at, at the most. What is behind them is the next run's.
const MOST_USERS: usize = 20_000;

/// Users who are read at once.
const PAGE: usize = 1_000;

/// Lists that are made at once. The position is remembered before them.
const AT_ONCE: usize = 10;

/// A run begins every minute. It spreads its lists over this time...
const SPREAD: Duration = Duration::from_secs(40);

/// ...and begins none after this time, so that it ends before the next run begins.
const LAST_CALL: Duration = Duration::from_secs(45);

pub(crate) struct WarmTimelines {
    presence: Presence,
    positions: Positions,
    warming: Warming,
    /// Lists that are made in a minute, which is in one run, at the most.
    rate: usize,
}

/// What one run has done so far.
struct Progress {
    began: Instant,
    /// Users who were looked at.
    users: usize,
    warmed: Warmed,
}

impl Job for WarmTimelines {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            presence: Presence::new(roost)?,
            positions: Positions::new(roost)?,
            warming: Warming::new(roost)?,
            rate: roost.config.warming_rate()?,
        })
    }

    /// Every run goes on where the one before stopped, so that everybody who is expected has their turn.
    async fn run(&self) -> Result<()> {
        if self.rate == 0 {
            return Ok(());
        }
        let mut progress = Progress {
            began: Instant::now(),
            users: 0,
            warmed: Warmed::default(),
        };
        let stopped = self.positions.get(JOB).await?;
        let round = Place::rest_of_round(now_millis(), stopped.as_deref());
        let walked = self.walk(round, &mut progress).await;
        let Progress { users, warmed, .. } = progress;
        let Warmed {
            tried,
            made,
            failed,
        } = warmed;
        metrics::TIMELINES_WARMED.add(made);
        metrics::WARMING_FAILURES.add(failed);
        if tried > 0 {
            tracing::info!(users, tried, made, failed, "timelines warmed");
        } else {
            tracing::debug!(users, "no timelines to warm");
        }
        let next = walked?;
        if next.is_some() || stopped.is_some() {
            let next = next.map(|place| place.to_string());
            self.positions.set(JOB, next).await?;
        }
        Ok(())
    }
}

impl WarmTimelines {
    /// Goes through expected users as far as a run may. Gives the place where it stops; `None` at the end of the round.
    async fn walk(&self, round: Vec<Place>, progress: &mut Progress) -> Result<Option<Place>> {
        for mut place in round {
            loop {
                if progress.users >= MOST_USERS || !progress.has_time() {
                    return Ok(Some(place));
                }
                let page = self.presence.page(place, PAGE).await?;
                progress.users += page.ids.len();
                let mut missing = self.warming.without_list(&page.ids).await?.into_iter();
                loop {
                    let left = self.rate - progress.warmed.tried.min(self.rate);
                    let next: Vec<_> = missing.by_ref().take(AT_ONCE.min(left)).collect();
                    let Some(last) = next.last() else { break };
                    if !self.wait_for_turn(progress).await {
                        return Ok(Some(place));
                    }
                    // Before the work: if a run dies of one user, the next one goes on behind them.
                    place = place.behind(*last);
                    self.positions.set(JOB, Some(place.to_string())).await?;
                    progress.note(self.warming.warm(&next).await?);
                }
                if progress.warmed.tried >= self.rate {
                    return Ok(Some(place));
                }
                let Some(last) = page.ids.last().filter(|_| page.more) else {
                    break;
                };
                place = place.behind(*last);
            }
        }
        Ok(None)
    }

    /// Waits until the next lists are due. `false` if that is too late for this run.
    async fn wait_for_turn(&self, progress: &Progress) -> bool {
        let done = progress.warmed.tried as f64 / self.rate as f64;
        sleep_until(progress.began + SPREAD.mul_f64(done)).await;
        progress.has_time()
    }
}

impl Progress {
    fn has_time(&self) -> bool {
        self.began.elapsed() < LAST_CALL
    }

    fn note(&mut self, warmed: Warmed) {
        self.warmed.tried += warmed.tried;
        self.warmed.made += warmed.made;
        self.warmed.failed += warmed.failed;
    }
}

#[cfg(test)]
mod tests {
    const EVENT: &str = include_str!("../../../events/warm-timelines.json");

    #[test]
    fn the_event_is_the_schedulers() {
        let event: serde_json::Value = serde_json::from_str(EVENT).expect("an event");
        assert_eq!(event["detail-type"], "Scheduled Event");
    }
}
