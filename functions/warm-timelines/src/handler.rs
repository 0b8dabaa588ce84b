use std::time::Duration;

use shared::domain::UserId;
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
    /// Everybody before this place has had their turn; `None` at the end of the round.
    reached: Option<Place>,
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
            reached: None,
        };
        let stopped = self.positions.get(JOB).await?;
        let round = Place::rest_of_round(now_millis(), stopped.as_deref());
        let walked = self.walk(round, &mut progress).await;
        let (users, warmed) = (progress.users, progress.warmed);
        metrics::TIMELINES_WARMED.add(warmed.made);
        metrics::WARMING_FAILURES.add(warmed.failed);
        if warmed.tried > 0 {
            let Warmed { made, failed, .. } = warmed;
            tracing::info!(users, made, failed, "timelines warmed");
        } else {
            tracing::debug!(users, "no timelines to warm");
        }
        walked?;
        if progress.reached.is_some() || stopped.is_some() {
            let reached = progress.reached.map(|place| place.to_string());
            self.positions.set(JOB, reached).await?;
        }
        Ok(())
    }
}

impl WarmTimelines {
    /// Goes through expected users as far as a run may.
    async fn walk(&self, round: Vec<Place>, progress: &mut Progress) -> Result<()> {
        let mut waiting: Vec<Place> = Vec::with_capacity(AT_ONCE);
        for mut place in round {
            loop {
                if waiting.is_empty() {
                    progress.reached = Some(place);
                }
                if progress.users >= MOST_USERS || !progress.has_time() {
                    return self.make(&mut waiting, progress).await;
                }
                let page = self.presence.page(place, PAGE).await?;
                progress.users += page.ids.len();
                for user in self.warming.without_list(&page.ids).await? {
                    // Yesterday and a week ago.
                    if waiting.iter().any(|other| other.after == Some(user)) {
                        continue;
                    }
                    waiting.push(place.behind(user));
                    if waiting.len() >= AT_ONCE.min(self.left(progress)) {
                        self.make(&mut waiting, progress).await?;
                        if self.left(progress) == 0 || !progress.has_time() {
                            return Ok(());
                        }
                    }
                }
                let Some(last) = page.ids.last().filter(|_| page.more) else {
                    break;
                };
                place = place.behind(*last);
            }
        }
        self.make(&mut waiting, progress).await?;
        progress.reached = None;
        Ok(())
    }

    /// Lists that this run may still make.
    fn left(&self, progress: &Progress) -> usize {
        self.rate.saturating_sub(progress.warmed.tried)
    }

    /// Makes the lists of those who wait, as soon as they are due.
    async fn make(&self, waiting: &mut Vec<Place>, progress: &mut Progress) -> Result<()> {
        let Some(last) = waiting.last().copied() else {
            return Ok(());
        };
        let done = progress.warmed.tried as f64 / self.rate as f64;
        sleep_until(progress.began + SPREAD.mul_f64(done)).await;
        // Before the work: if a run dies of one user, the next one goes on behind them.
        progress.reached = Some(last);
        self.positions.set(JOB, Some(last.to_string())).await?;
        let users: Vec<UserId> = waiting.drain(..).filter_map(|place| place.after).collect();
        progress.note(self.warming.warm(&users).await?);
        Ok(())
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
