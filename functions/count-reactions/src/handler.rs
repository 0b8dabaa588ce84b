use std::collections::HashMap;

use shared::flows::counting::ReactionCounting;
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::Reactions;
use shared::stores::reactions::{Before, ReactionKey};
use shared::{Result, Roost};

pub(crate) struct CountReactions {
    reactions: Reactions,
    counting: ReactionCounting,
}

impl Consumer for CountReactions {
    type Record = TableRecord;
    const CHUNK: usize = 500;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            reactions: Reactions::new(roost)?,
            counting: ReactionCounting::new(roost)?,
        })
    }

    /// A record says that a reaction changed; how it is now, the table says. So a record that comes late or again does no
    /// harm, and a hundred changes of one like count as one.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let changes = self.reactions.now(&changed(records)?).await?;
        let tweets = self.counting.count(&changes).await?;
        tracing::info!(reactions = changes.len(), tweets, "reactions counted");
        Ok(())
    }
}

/// Which reactions changed, each once, and what stood in their rows before.
fn changed(records: &[TableRecord]) -> Result<HashMap<ReactionKey, Before>> {
    let mut changed = HashMap::new();
    for record in records {
        changed.insert(batch::key(record)?, batch::old_image(record)?);
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/count-reactions.json");

    #[test]
    fn the_event_is_a_like_that_came_twice_and_a_hidden_tweet() {
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        assert_eq!(batch.records.len(), 3);
        assert_eq!(changed(&batch.records).expect("records").len(), 2);
    }
}
