use aws_lambda_events::kinesis::KinesisEventRecord;
use shared::Result;
use shared::domain::event::TierChange;
use shared::domain::tier::Policy;
use shared::domain::{Entry, Origin, Tier, UserId};
use shared::flows::feeds::FeedReader;
use shared::flows::tiers;
use shared::runtime::batch;
use shared::stores::timelines::BACKFILL;
use shared::stores::tweets::{NEWEST, OLDEST};
use shared::stores::{Cards, Celebs, EventStream, Feeds, Follows, Tiers, Timelines, Tweets, Users};

/// Followers read by one query.
const QUERY: usize = 500;

pub(crate) struct ApplyTierChanges {
    pub(crate) follows: Follows,
    pub(crate) users: Users,
    pub(crate) tweets: Tweets,
    pub(crate) tiers: Tiers,
    pub(crate) cards: Cards,
    pub(crate) celebs: Celebs,
    pub(crate) feeds: Feeds,
    pub(crate) feed_reader: FeedReader,
    pub(crate) timelines: Timelines,
    pub(crate) changes: EventStream,
    pub(crate) policy: Policy,
    /// Followers that one invocation tells.
    pub(crate) page_size: usize,
}

impl ApplyTierChanges {
    pub(crate) async fn handle(&self, records: &[KinesisEventRecord]) -> Result<()> {
        for record in records {
            self.apply(batch::payload(record)?).await?;
        }
        Ok(())
    }

    async fn apply(&self, change: TierChange) -> Result<()> {
        let author = change.user_id;
        let row = self.users.row(author).await?;
        let Some(row) =
            row.filter(|row| row.epoch == change.epoch && row.tier == change.under_way())
        else {
            tracing::info!(user_id = %author, epoch = change.epoch, "tier change is over");
            return Ok(());
        };
        if change.after.is_none() {
            // First the tier: whoever fans a tweet out from now on sees it, so a tweet that was fanned out the old way
            // is in the table already when the feed is filled, or when followers are backfilled.
            self.cards.set_counts(&[row]).await?;
            if change.is_celebrity {
                self.feed_reader.refill(author).await?;
            }
        }
        match self.tell_followers(change).await? {
            Some(last) => {
                let rest = TierChange {
                    after: Some(last),
                    ..change
                };
                self.changes.put([(author.to_string(), rest)]).await
            }
            None => self.settle(change).await,
        }
    }

    /// Tells this invocation's share, and says who was last where more are left.
    async fn tell_followers(&self, change: TierChange) -> Result<Option<UserId>> {
        let author = change.user_id;
        let missed = match change.under_way() {
            Tier::Demoting => {
                let tweets = self.tweets.newest_entries(author, OLDEST, NEWEST, BACKFILL);
                let given = tweets.await?.into_iter();
                given.map(|entry| entry.by(Origin::Backfilled)).collect()
            }
            _ => Vec::new(),
        };
        let (mut last, mut told) = (change.after, 0);
        loop {
            let page = self
                .follows
                .followers_page(author, last, QUERY.min(self.page_size - told))
                .await?;
            if change.is_celebrity {
                self.celebs.add(&page.ids, author).await?;
            } else {
                self.give(&page.ids, &missed).await?;
                self.celebs.remove(&page.ids, author).await?;
            }
            told += page.ids.len();
            last = page.ids.last().copied().or(last);
            if !page.more || told >= self.page_size {
                tracing::info!(user_id = %author, epoch = change.epoch, followers = told, more = page.more, "tier change told");
                return Ok(last.filter(|_| page.more));
            }
        }
    }

    /// Gives followers who have a list the tweets that they pulled so far.
    async fn give(&self, followers: &[UserId], missed: &[Entry]) -> Result<()> {
        for follower in self.timelines.active(followers).await? {
            self.timelines.backfill(follower, missed).await?;
        }
        Ok(())
    }

    async fn settle(&self, change: TierChange) -> Result<()> {
        let (author, from) = (change.user_id, change.under_way());
        let Some(to) = from.settled() else {
            return Ok(());
        };
        self.tiers.settle(author, change.epoch, from, to).await?;
        if to == Tier::Normal {
            self.feeds.drop(author).await?;
        }
        // Followers came and went meanwhile; perhaps the next flip is due.
        let rows = self.users.rows([author]).await?;
        self.cards.set_counts(&rows).await?;
        tiers::review(&self.tiers, &self.users, &self.cards, &self.policy, &rows).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/apply-tier-changes.json");

    #[test]
    fn the_event_is_the_beginning_of_a_promotion() {
        let batch: Batch<KinesisEventRecord> = serde_json::from_str(EVENT).expect("an event");
        let change: TierChange = batch::payload(&batch.records[0]).expect("a payload");
        assert_eq!((change.under_way(), change.after), (Tier::Promoting, None));
    }
}
