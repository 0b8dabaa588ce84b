use std::time::Duration;

use shared::flows::cache_watch::CacheWatch;
use shared::runtime::schedule::Job;
use shared::{Result, Roost};

pub(crate) struct WatchCache {
    watch: CacheWatch,
    /// How long one run watches.
    duration: Duration,
}

impl Job for WatchCache {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            watch: CacheWatch::new(roost)?,
            duration: roost.config.cache_watch()?,
        })
    }

    async fn run(&self) -> Result<()> {
        self.watch.run(self.duration).await
    }
}

#[cfg(test)]
mod tests {
    const EVENT: &str = include_str!("../../../events/watch-cache.json");

    #[test]
    fn the_event_is_the_schedulers() {
        let event: serde_json::Value = serde_json::from_str(EVENT).expect("an event");
        assert_eq!(event["detail-type"], "Scheduled Event");
    }
}
