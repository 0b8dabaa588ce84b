use std::collections::HashMap;

use shared::domain::Entry;
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::reactions::{Before, ReactionKey};
use shared::stores::{ReactionCounters, Reactions, Reactors, TweetStats, Tweets};
use shared::{Result, Roost};

/// So many changes of a tweet's counter are followed by a note that there are reactions. The first would do, but a sandbox
/// may die before it has written the note, and others may count meanwhile.
const YOUNG: u64 = 64;

pub(crate) struct CountReactions {
    reactions: Reactions,
    counters: ReactionCounters,
    tweets: Tweets,
    stats: TweetStats,
    reactors: Reactors,
}

impl Consumer for CountReactions {
    type Record = TableRecord;
    const CHUNK: usize = 500;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            reactions: Reactions::new(roost)?,
            counters: ReactionCounters::new(roost)?,
            tweets: Tweets::new(roost)?,
            stats: TweetStats::new(roost)?,
            reactors: Reactors::new(roost)?,
        })
    }

    /// A record says that a reaction changed; how it is now, the table says. So a record that comes late or again does no
    /// harm, and a hundred changes of one like count as one.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let changes = self.reactions.now(&changed(records)?).await?;
        let counted = self.counters.apply(&changes).await?;
        // They came in while their tweet was deleted.
        self.reactions.erase(counted.gone).await?;
        let tweets: Vec<Entry> = counted.tweets.into_iter().collect();
        let counts = self.tweets.counts(&tweets).await?;
        let young = counts.iter().filter(|(_, counts)| counts.version <= YOUNG);
        self.reactors.note(young.map(|(tweet, _)| *tweet)).await?;
        self.stats.set(&counts).await?;
        tracing::info!(
            reactions = changes.len(),
            tweets = counts.len(),
            "reactions counted"
        );
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
