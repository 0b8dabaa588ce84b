use shared::domain::{Reaction, TweetId};
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::reactions::ReactionKey;
use shared::stores::tweets::TweetKey;
use shared::stores::{Cards, Reactions, Reactors};
use shared::{Result, Roost};

/// Reactions that are removed at once.
const PIECE: usize = 500;

pub(crate) struct ForgetReactions {
    reactions: Reactions,
    reactors: Reactors,
    cards: Cards,
}

impl Consumer for ForgetReactions {
    type Record = TableRecord;
    const CHUNK: usize = 100;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            reactions: Reactions::new(roost)?,
            reactors: Reactors::new(roost)?,
            cards: Cards::new(roost)?,
        })
    }

    /// Piece by piece. If there are more than one invocation can remove, the next attempt goes on where this one stopped.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let deleted = deleted(records)?;
        self.cards.forget_beside(&deleted).await?;
        for tweet in self.reactors.noted(&deleted).await? {
            for reaction in [Reaction::Like, Reaction::Hide] {
                while self.forget_some(reaction, tweet).await? {}
            }
            self.reactors.forget(tweet).await?;
        }
        Ok(())
    }
}

impl ForgetReactions {
    /// `false` if nothing was left.
    async fn forget_some(&self, reaction: Reaction, tweet: TweetId) -> Result<bool> {
        let reactors = self.reactors.some(reaction, tweet, PIECE).await?;
        let keys = reactors.iter();
        let keys = keys.map(|reactor| ReactionKey::new(reactor.user(), reaction, tweet));
        self.reactions.erase(keys).await?;
        // Last: what has left this table is not found again.
        self.reactors.erase(&reactors).await?;
        Ok(!reactors.is_empty())
    }
}

fn deleted(records: &[TableRecord]) -> Result<Vec<TweetId>> {
    let mut deleted = Vec::new();
    for record in records {
        if !batch::was_inserted(record)? {
            deleted.push(batch::key::<TweetKey>(record)?.entry().tweet);
        }
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/forget-reactions.json");

    #[test]
    fn the_event_is_a_deleted_tweet() {
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        assert_eq!(deleted(&batch.records).expect("a record").len(), 1);
    }
}
