use shared::domain::Entry;
use shared::domain::event::TweetEvent;
use shared::flows::fan_out::FanOut;
use shared::flows::live::FanAnnouncer;
use shared::flows::tiers::{AuthorTiers, TierReview};
use shared::platform::now_millis;
use shared::runtime::batch::{self, Consumer, StreamRecord};
use shared::stores::{Cards, Feeds, Receipts, Timelines, Users};
use shared::{Result, Roost};

pub(crate) struct FanOutTweets {
    fan_out: FanOut,
    announcer: FanAnnouncer,
    timelines: Timelines,
    feeds: Feeds,
    receipts: Receipts,
    cards: Cards,
    users: Users,
    tiers: AuthorTiers,
    review: TierReview,
}

impl Consumer for FanOutTweets {
    type Record = StreamRecord;
    const CHUNK: usize = 1;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            fan_out: FanOut::new(roost)?,
            announcer: FanAnnouncer::new(roost)?,
            timelines: Timelines::new(roost)?,
            feeds: Feeds::new(roost)?,
            receipts: Receipts::new(roost)?,
            cards: Cards::new(roost)?,
            users: Users::new(roost)?,
            tiers: AuthorTiers::new(roost)?,
            review: TierReview::new(roost)?,
        })
    }

    async fn handle(&self, records: &[StreamRecord]) -> Result<()> {
        for record in records {
            match batch::payload(record)? {
                TweetEvent::TweetCreated {
                    tweet_id,
                    author_id,
                    repost_of,
                } => {
                    let entry = Entry::new(tweet_id, author_id);
                    let entry = repost_of.map_or(entry, |original| entry.reposting(original));
                    self.created(entry).await?;
                }
                TweetEvent::TweetDeleted {
                    tweet_id,
                    author_id,
                } => self.deleted(Entry::new(tweet_id, author_id)).await?,
            }
        }
        Ok(())
    }
}

impl FanOutTweets {
    async fn created(&self, entry: Entry) -> Result<()> {
        // The author has it already, unless post-tweet could not finish.
        self.timelines.insert(entry, &[entry.author]).await?;
        let author = self.tiers.one(entry.author).await?;
        if author.tier.pulls() {
            self.feeds.add(entry).await?;
            let late_ms = now_millis().saturating_sub(entry.tweet.millis());
            self.receipts.pulled(entry.tweet, late_ms).await?;
        }
        if author.tier.pushes() && !self.receipts.was_at_once(entry.tweet).await? {
            self.fan_out.start(entry, author).await?;
        }
        if author.tier.pulls() {
            // Last: nobody's delivery waits for it.
            self.announcer.to_fans(entry.author).await?;
        }
        if self.review.counts_tweets() {
            let row = self.users.count_tweet(entry.author, now_millis()).await?;
            self.review.review(row.as_slice()).await?;
        }
        Ok(())
    }

    async fn deleted(&self, entry: Entry) -> Result<()> {
        // A tweet that was deleted together with its author was buried by `erase-users`.
        if self.users.still_exists(entry.author).await? {
            self.cards.bury(entry).await?;
        }
        self.feeds.remove(entry).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/fan-out-tweets.json");

    #[test]
    fn the_event_is_a_tweet_that_was_posted() {
        let batch: Batch<StreamRecord> = serde_json::from_str(EVENT).expect("an event");
        let event: TweetEvent = batch::payload(&batch.records[0]).expect("a payload");
        assert!(matches!(event, TweetEvent::TweetCreated { .. }));
    }
}
