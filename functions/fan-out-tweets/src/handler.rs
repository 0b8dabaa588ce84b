use aws_lambda_events::kinesis::KinesisEventRecord;
use shared::Result;
use shared::domain::event::TweetEvent;
use shared::domain::{Entry, Tier};
use shared::flows::fan_out::FanOut;
use shared::runtime::batch;
use shared::stores::{Cards, Timelines};

pub(crate) struct FanOutTweets {
    pub(crate) fan_out: FanOut,
    pub(crate) timelines: Timelines,
    pub(crate) cards: Cards,
}

impl FanOutTweets {
    pub(crate) async fn handle(&self, records: &[KinesisEventRecord]) -> Result<()> {
        for record in records {
            match batch::payload(record)? {
                TweetEvent::TweetCreated {
                    tweet_id,
                    author_id,
                } => self.created(Entry::new(tweet_id, author_id)).await?,
                TweetEvent::TweetDeleted {
                    tweet_id,
                    author_id,
                } => self.cards.bury(Entry::new(tweet_id, author_id)).await?,
            }
        }
        Ok(())
    }

    async fn created(&self, entry: Entry) -> Result<()> {
        // The author has it already, unless post-tweet could not finish.
        self.timelines.insert(entry, &[entry.author]).await?;
        match tier_of(entry) {
            Tier::Normal => self.fan_out.start(entry).await,
        }
    }
}

/// Every author is pushed so far. Whom to pull instead is decided here, once per tweet.
const fn tier_of(_: Entry) -> Tier {
    Tier::Normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/fan-out-tweets.json");

    #[test]
    fn the_event_is_a_tweet_that_was_posted() {
        let batch: Batch<KinesisEventRecord> = serde_json::from_str(EVENT).expect("an event");
        let event: TweetEvent = batch::payload(&batch.records[0]).expect("a payload");
        assert!(matches!(event, TweetEvent::TweetCreated { .. }));
    }
}
