use std::collections::{BTreeSet, HashSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use shared::domain::UserId;
use shared::domain::event::TimelineFill;
use shared::flows::rebuild::Rebuilds;
use shared::runtime::batch::{Consumer, WorkRecord};
use shared::stores::HandOvers;
use shared::stores::handovers::Work;
use shared::{Result, Roost};

/// Lists filled at once. Readers do not wait for this, so it is kept from crowding them out.
const CONCURRENCY: usize = 2;

pub(crate) struct FillTimelines {
    rebuilds: Rebuilds,
    work: HandOvers,
}

impl Consumer for FillTimelines {
    type Record = WorkRecord;
    const CHUNK: usize = 10;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            rebuilds: Rebuilds::new(roost)?,
            work: HandOvers::new(roost, Work::Fills)?,
        })
    }

    async fn handle(&self, records: &[WorkRecord]) -> Result<()> {
        let fills: Vec<_> = users(records)?
            .into_iter()
            .map(|user| self.rebuilds.fill(user))
            .collect();
        let fills = stream::iter(fills).buffer_unordered(CONCURRENCY);
        fills.try_collect::<()>().await?;
        // The same list may be named twice.
        let done: HashSet<_> = records.iter().filter_map(WorkRecord::handed_over).collect();
        self.work.done(done).await;
        Ok(())
    }
}

/// Whose lists are meant, each once.
fn users(records: &[WorkRecord]) -> Result<BTreeSet<UserId>> {
    let fills = records.iter().map(WorkRecord::work);
    fills
        .map(|fill| fill.map(|fill: TimelineFill| fill.user_id))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/fill-timelines.json");

    #[test]
    fn a_timeline_that_is_named_twice_is_filled_once() {
        let batch: Batch<WorkRecord> = serde_json::from_str(EVENT).expect("an event");
        let twice = [batch.records[0].clone(), batch.records[0].clone()];
        assert_eq!(users(&twice).expect("a user").len(), 1);
    }
}
