use aws_lambda_events::dynamodb::EventRecord;
use shared::Result;
use shared::domain::timeline::CAP;
use shared::flows::edges;
use shared::runtime::batch;
use shared::stores::follows::Edge;
use shared::stores::tweets::NEWEST;
use shared::stores::{Follows, Timelines, Tweets};

pub(crate) struct ApplyFollows {
    pub(crate) follows: Follows,
    pub(crate) tweets: Tweets,
    pub(crate) timelines: Timelines,
}

impl ApplyFollows {
    /// A record says that the edge changed; how it is now, the table says. So a record that comes late or again does
    /// no harm.
    pub(crate) async fn handle(&self, records: &[EventRecord]) -> Result<()> {
        for record in records {
            let edge: Edge = batch::key(record)?;
            let followed =
                edges::settle(&self.follows, &self.timelines, edge, batch::came(record)?).await?;
            if followed {
                self.backfill(edge).await?;
            } else {
                self.timelines
                    .remove_author(edge.follower(), edge.followee())
                    .await?;
            }
        }
        Ok(())
    }

    /// Gives an existing list the followee's tweets as deep as the list reaches. A missing list is left missing: its
    /// rebuild will find the edge.
    async fn backfill(&self, edge: Edge) -> Result<()> {
        let Some(oldest) = self.timelines.oldest_kept(edge.follower()).await? else {
            return Ok(());
        };
        // More than a list keeps is never needed, whatever else is in it.
        let recent = self
            .tweets
            .newest_entries(edge.followee(), oldest.tweet, NEWEST, CAP)
            .await?;
        if !recent.is_empty() {
            self.timelines.backfill(edge.follower(), &recent).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/apply-follows.json");

    #[test]
    fn the_event_is_a_follow() {
        let batch: Batch<EventRecord> = serde_json::from_str(EVENT).expect("an event");
        let edge: Edge = batch::key(&batch.records[0]).expect("a key");
        assert!(batch::came(&batch.records[0]).expect("an event name"));
        assert_ne!(edge.follower(), edge.followee());
    }
}
