//! Watching the cache for a failover that lost writes, and letting it forget what may be wrong.
//!
//! Every half second all canaries are raised. If one has fallen, its server has lost writes that it acknowledged: pushes,
//! feeds, hidden authors, tombstones, celebrities, tiers. Nothing tells which, so the server forgets everything, as if it
//! had been replaced by an empty one; readers then rebuild what they need from the tables.
//!
//! What is remembered outlives a run, so nothing that was lost between two runs is overlooked if it was raised before.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until};

use crate::domain::canary::Heights;
use crate::platform::{Roost, metrics, now_millis};
use crate::stores::canaries::Sweep;
use crate::stores::{Canaries, Positions};
use crate::{Error, Result};

/// Between two beats. A loss of less than that may go unnoticed; replication is rarely so far behind.
const BEAT: Duration = Duration::from_millis(500);

/// How often what is remembered is stored while nothing happens.
const STORE_EVERY: Duration = Duration::from_secs(10);

/// Under which name it is stored.
const JOB: &str = "watch-cache";

pub struct CacheWatch {
    canaries: Canaries,
    positions: Positions,
}

/// What a run hands to the next one.
#[derive(Default, Serialize, Deserialize)]
struct Memory {
    heights: Heights,
    /// Servers that are still forgetting.
    sweeps: Vec<Sweep>,
}

impl CacheWatch {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            canaries: Canaries::new(roost)?,
            positions: Positions::new(roost)?,
        })
    }

    /// Watches for so long. A server that has begun to forget goes on in the next run if this one is too short.
    pub async fn run(&self, duration: Duration) -> Result<()> {
        let mut memory = self.recall().await?;
        let end = Instant::now() + duration;
        let (mut losses, mut stored) = (0, Instant::now());
        while Instant::now() < end {
            let next_beat = Instant::now() + BEAT;
            let lost = self.beat(&mut memory).await;
            losses += lost;
            let forgot = self.forget(&mut memory, next_beat).await;
            if lost > 0 || forgot || stored.elapsed() > STORE_EVERY {
                self.remember(&memory).await?;
                stored = Instant::now();
            }
            sleep_until(next_beat.min(end)).await;
        }
        metrics::CACHE_LOSSES.add(losses);
        self.remember(&memory).await
    }

    /// Raises all canaries. Gives how many servers have lost something.
    async fn beat(&self, memory: &mut Memory) -> usize {
        let raised = match self.canaries.raise(now_millis()).await {
            Ok(raised) => raised,
            Err(error) => {
                tracing::debug!(error = error.chain(), "cache does not answer");
                return 0;
            }
        };
        let mut servers = Vec::new();
        for raised in raised {
            if memory.heights.note(raised) {
                let server = self.canaries.server_of(raised.canary).await;
                let server = server.unwrap_or_default();
                if !servers.contains(&server) {
                    tracing::error!(server, "cache lost writes, so it forgets what it holds");
                    memory.sweeps.push(Sweep::beside(raised.canary));
                    servers.push(server);
                }
            }
        }
        servers.len()
    }

    /// Lets servers forget until the time of the next beat. `true` if one of them is done.
    async fn forget(&self, memory: &mut Memory, until: Instant) -> bool {
        let before = memory.sweeps.len();
        while Instant::now() < until
            && let Some(sweep) = memory.sweeps.first_mut()
        {
            match self.canaries.forget_some(sweep).await {
                Ok(true) => {}
                Ok(false) => {
                    tracing::info!("cache forgot what it held");
                    memory.sweeps.remove(0);
                }
                Err(error) => {
                    tracing::warn!(error = error.chain(), "cache cannot forget yet");
                    break;
                }
            }
        }
        memory.sweeps.len() < before
    }

    async fn recall(&self) -> Result<Memory> {
        let stored = self.positions.get(JOB).await?;
        let memory = stored.map(|text| serde_json::from_str(&text));
        Ok(memory
            .transpose()
            .map_err(Error::unreadable("what the watch remembers"))?
            .unwrap_or_default())
    }

    async fn remember(&self, memory: &Memory) -> Result<()> {
        let text = serde_json::to_string(memory).map_err(Error::unreadable("a memory to write"))?;
        self.positions.set(JOB, Some(text)).await
    }
}
