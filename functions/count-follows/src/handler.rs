use shared::domain::event::OutdatedCounts;
use shared::flows::tiers::TierReview;
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::counts::{EDGES_PER_TRANSACTION, EdgeChange};
use shared::stores::handovers::Work;
use shared::stores::users::UserRow;
use shared::stores::{Counts, HandOvers, UserCounts, Users};
use shared::{Result, Roost};

pub(crate) struct CountFollows {
    counts: Counts,
    users: Users,
    cached: UserCounts,
    review: TierReview,
    later: HandOvers,
}

impl Consumer for CountFollows {
    type Record = TableRecord;
    const CHUNK: usize = EDGES_PER_TRANSACTION;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            counts: Counts::new(roost)?,
            users: Users::new(roost)?,
            cached: UserCounts::new(roost)?,
            review: TierReview::new(roost)?,
            later: HandOvers::new(roost, Work::Tiers)?,
        })
    }

    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let changes = records.iter().map(read).collect::<Result<Vec<_>>>()?;
        let concerned = self.counts.apply(&changes).await?;
        let rows = self.users.rows(concerned).await?;
        self.show(&rows).await?;
        self.review.review(&rows).await?;
        tracing::info!(edges = changes.len(), users = rows.len(), "follows counted");
        Ok(())
    }
}

impl CountFollows {
    /// The counts are in the table, so a cache that fails must not hold the stream back. It is told later.
    async fn show(&self, rows: &[UserRow]) -> Result<()> {
        let Err(error) = self.cached.set(rows).await else {
            return Ok(());
        };
        tracing::warn!(error = error.chain(), "counts not cached yet");
        let outdated: Vec<_> = rows.iter().map(UserRow::id).collect();
        let key = outdated.first().map(ToString::to_string);
        let work = key.map(|key| (key, OutdatedCounts { outdated }));
        self.later.put(work).await
    }
}

fn read(record: &TableRecord) -> Result<EdgeChange> {
    let by = if batch::was_inserted(record)? { 1 } else { -1 };
    Ok(EdgeChange {
        event_id: record.event_id.clone(),
        edge: batch::key(record)?,
        by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/count-follows.json");

    #[test]
    fn the_event_is_a_follow_and_an_unfollow() {
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        let changes: Vec<EdgeChange> = batch
            .records
            .iter()
            .map(|record| read(record).expect("a record"))
            .collect();
        assert_eq!(
            changes.iter().map(|change| change.by).collect::<Vec<_>>(),
            [1, -1]
        );
        assert_ne!(changes[0].event_id, changes[1].event_id);
    }
}
