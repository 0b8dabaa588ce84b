use std::time::{Duration, Instant};

use shared::domain::event::{OutdatedCounts, TierChange, TierEvent};
use shared::domain::{Origin, Tier, UserId};
use shared::flows::feeds::FeedReader;
use shared::flows::tiers::TierReview;
use shared::platform::now_millis;
use shared::runtime::batch::{Consumer, WorkRecord};
use shared::stores::handovers::Work;
use shared::stores::tweets::{NEWEST, OLDEST};
use shared::stores::{
    Cards, Celebs, Feeds, Followers, HandOvers, Listeners, Tiers, Timelines, Tweets, UserCounts,
    Users,
};
use shared::{Result, Roost};

/// Followers read by one query.
const QUERY: usize = 500;
/// An invocation goes on with the next followers for so long. If it ran until it is stopped, it would begin with the same ones
/// again, and never end.
const SHARE: Duration = Duration::from_secs(20);

pub(crate) struct ApplyTierChanges {
    followers: Followers,
    users: Users,
    tweets: Tweets,
    tiers: Tiers,
    counts: UserCounts,
    cards: Cards,
    review: TierReview,
    celebs: Celebs,
    listeners: Listeners,
    feeds: Feeds,
    feed_reader: FeedReader,
    timelines: Timelines,
    work: HandOvers,
    /// Followers that one invocation tells.
    page_size: usize,
}

impl Consumer for ApplyTierChanges {
    type Record = WorkRecord;
    const CHUNK: usize = 1;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            followers: Followers::new(roost)?,
            users: Users::new(roost)?,
            tweets: Tweets::new(roost)?,
            tiers: Tiers::new(roost)?,
            counts: UserCounts::new(roost)?,
            cards: Cards::new(roost)?,
            review: TierReview::new(roost)?,
            celebs: Celebs::new(roost)?,
            listeners: Listeners::new(roost)?,
            feeds: Feeds::new(roost)?,
            feed_reader: FeedReader::new(roost)?,
            timelines: Timelines::new(roost)?,
            work: HandOvers::new(roost, Work::Tiers)?,
            page_size: roost.config.fan_out_page_size()?,
        })
    }

    async fn handle(&self, records: &[WorkRecord]) -> Result<()> {
        for record in records {
            match record.work()? {
                TierEvent::Change(change) => self.apply(change).await?,
                TierEvent::Outdated(OutdatedCounts { outdated }) => {
                    self.cards.forget_users(&outdated).await?;
                    self.counts.set(&self.users.rows(outdated).await?).await?;
                }
            }
            self.work.done(record.handed_over()).await;
        }
        Ok(())
    }
}

impl ApplyTierChanges {
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
            // First the tier: every fan-out from now on sees it, so a tweet that was fanned out the old way is in the table
            // already when the feed is filled, or when followers are backfilled.
            self.counts.set(&[row]).await?;
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
                // A key of its own: what is done here is removed, and this is still to do.
                let key = format!("{author}:{last}");
                self.work.put([(key, rest)]).await
            }
            None => self.settle(change).await,
        }
    }

    /// Tells this invocation's share. Gives the last follower who was told, if more are left.
    async fn tell_followers(&self, change: TierChange) -> Result<Option<UserId>> {
        let author = change.user_id;
        let missed = match change.under_way() {
            Tier::Demoting => {
                let most = self.timelines.backfill_size();
                let tweets = self.tweets.newest_entries(author, OLDEST, NEWEST, most);
                let given = tweets.await?.into_iter();
                given.map(|it| it.by(Origin::Backfilled)).collect()
            }
            _ => Vec::new(),
        };
        let (mut last, mut told, started) = (change.after, 0, Instant::now());
        loop {
            let page = self
                .followers
                .page(author, last, QUERY.min(self.page_size - told))
                .await?;
            if change.is_celebrity {
                self.celebs.add(&page.ids, author).await?;
                // After that: somebody who connects meanwhile finds the author there.
                self.listeners
                    .add_fans(author, &page.ids, now_millis())
                    .await?;
            } else {
                // Those who have a list get the tweets that they pulled so far.
                self.timelines.backfill_each(&page.ids, &missed).await?;
                self.celebs.remove(&page.ids, author).await?;
            }
            told += page.ids.len();
            last = page.ids.last().copied().or(last);
            if !page.more || told >= self.page_size || started.elapsed() >= SHARE {
                tracing::info!(user_id = %author, epoch = change.epoch, followers = told, more = page.more, "tier change told");
                return Ok(last.filter(|_| page.more));
            }
        }
    }

    async fn settle(&self, change: TierChange) -> Result<()> {
        let (author, from) = (change.user_id, change.under_way());
        let Some(to) = from.settled() else {
            return Ok(());
        };
        self.tiers.settle(author, change.epoch, from, to).await?;
        if to == Tier::Normal {
            self.feeds.forget([author]).await?;
        }
        // Followers came and went meanwhile; perhaps the next flip is due.
        let rows = self.users.rows([author]).await?;
        self.counts.set(&rows).await?;
        self.review.review(&rows).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/apply-tier-changes.json");

    #[test]
    fn the_event_is_the_beginning_of_a_promotion() {
        let batch: Batch<WorkRecord> = serde_json::from_str(EVENT).expect("an event");
        let change: TierChange = batch.records[0].work().expect("a change");
        assert_eq!((change.under_way(), change.after), (Tier::Promoting, None));
    }
}
