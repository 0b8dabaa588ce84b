use aws_lambda_events::kinesis::KinesisEventRecord;
use shared::domain::event::TweetEvent;
use shared::domain::tier::{Measure, Policy};
use shared::domain::{Entry, UserId};
use shared::flows::fan_out::FanOut;
use shared::flows::tiers;
use shared::runtime::{batch, now_millis};
use shared::stores::{Cards, Feeds, Receipts, Tiers, Timelines, Users};
use shared::{Error, Result};

pub(crate) struct FanOutTweets {
    pub(crate) fan_out: FanOut,
    pub(crate) timelines: Timelines,
    pub(crate) feeds: Feeds,
    pub(crate) receipts: Receipts,
    pub(crate) cards: Cards,
    pub(crate) users: Users,
    pub(crate) tiers: Tiers,
    pub(crate) policy: Policy,
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
                } => self.deleted(Entry::new(tweet_id, author_id)).await?,
            }
        }
        Ok(())
    }

    async fn created(&self, entry: Entry) -> Result<()> {
        // The author has it already, unless post-tweet could not finish.
        self.timelines.insert(entry, &[entry.author]).await?;
        let tiers = tiers::tiers_of(&self.users, &self.cards, &[entry.author]).await?;
        let author = tiers
            .get(&entry.author)
            .copied()
            .ok_or(Error::GaveUp("finding an author's tier"))?;
        if author.tier.pulls() {
            self.feeds.add(entry).await?;
            let late_ms = now_millis().saturating_sub(entry.tweet.millis());
            self.receipts.pulled(entry.tweet, late_ms).await?;
        }
        if author.tier.pushes() {
            self.fan_out.start(entry, author).await?;
        }
        if matches!(self.policy.measure, Measure::Load { .. }) {
            self.review(entry.author).await?;
        }
        Ok(())
    }

    async fn deleted(&self, entry: Entry) -> Result<()> {
        // A tweet that went together with its author was buried by `erase-users`.
        if self.users.still_exists(entry.author).await? {
            self.cards.bury(entry).await?;
        }
        self.feeds.remove(entry).await
    }

    /// Where load decides, every tweet counts.
    async fn review(&self, author: UserId) -> Result<()> {
        let row = self.users.count_tweet(author, now_millis()).await?;
        tiers::review(
            &self.tiers,
            &self.users,
            &self.cards,
            &self.policy,
            row.as_slice(),
        )
        .await
    }
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
