//! Delivering one tweet to a range of followers.
//!
//! An invocation serves a bounded number. What is left of the range is cut in pieces ([`crate::domain::range`]) and
//! handed over ([`crate::stores::handovers`]), and each piece meets the same code. Ranges are disjoint, so nobody is
//! served by two of them; a crash repeats a range and loses nothing, because readers dedupe.

use super::live::Announcer;
use crate::Result;
use crate::domain::event::{FanOutPage, FanOutWork};
use crate::domain::range::{Left, Served};
use crate::domain::tier::TierAndEpoch;
use crate::domain::{Entry, FollowerRange, TweetId, UserId};
use crate::platform::{Roost, metrics, now_millis};
use crate::stores::handovers::Work;
use crate::stores::{Followers, HandOvers, IdPage, Receipts, Timelines, UserCounts};

/// Followers read by one query.
const QUERY: usize = 1_000;

pub struct FanOut {
    followers: Followers,
    timelines: Timelines,
    pages: HandOvers,
    receipts: Receipts,
    announcer: Announcer,
    counts: UserCounts,
    /// Followers that one invocation serves.
    page_size: usize,
}

impl FanOut {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            followers: Followers::new(roost)?,
            timelines: Timelines::new(roost)?,
            pages: HandOvers::new(roost, Work::FanOut)?,
            receipts: Receipts::new(roost)?,
            announcer: Announcer::new(roost)?,
            counts: UserCounts::new(roost)?,
            page_size: roost.config.fan_out_page_size()?,
        })
    }

    /// Starts the delivery to all of an author's followers.
    pub async fn start(&self, entry: Entry, author: TierAndEpoch) -> Result<()> {
        let Some(largest) = self.followers.last(entry.author).await? else {
            return Ok(());
        };
        self.deliver(FanOutPage {
            tweet_id: entry.tweet,
            author_id: entry.author,
            repost_of: entry.repost_of(),
            followers: FollowerRange::up_to(largest),
            tier: author.tier,
            epoch: author.epoch,
            depth: 0,
            left: None,
        })
        .await
    }

    /// Delivers to the first followers of the page's range, and hands over the rest.
    pub async fn deliver(&self, page: FanOutPage) -> Result<()> {
        let (mut served, mut delivered) = (0, 0);
        let mut left = Some(page.followers);
        let mut batch = self.read(&page, left, served).await?;
        let first = batch.ids.first().copied();
        while let Some(&last) = batch.ids.last() {
            served += batch.ids.len();
            left = if batch.more {
                page.followers.rest_after(last)
            } else {
                None
            };
            // The next followers are read while these are served.
            let (pushed, next) =
                tokio::try_join!(self.push(&page, &batch.ids), self.read(&page, left, served))?;
            delivered += pushed;
            batch = next;
        }
        // A range that ended before this invocation's share was served holds nobody else.
        let left = left.filter(|_| served >= self.page_size);
        let (pieces, in_all) = match (left, first) {
            (Some(rest), Some(first)) => {
                let count = served as u64;
                let left = self.left(&page, count).await?;
                let pieces = Served { count, first }.cut(rest, left, self.page_size as u64);
                (pieces, left)
            }
            _ => (Vec::new(), Left::Unknown),
        };
        let handed_over = pieces.len();
        self.pages
            .put(pieces.into_iter().map(|followers| {
                // Each range has a key of its own, so that they spread over the shards and none waits for another.
                let key = format!("{}:{}", page.tweet_id, followers.after());
                let rest = FanOutPage {
                    followers,
                    depth: page.depth + 1,
                    left: in_all.number(),
                    ..page
                };
                (key, FanOutWork::Deliver(rest))
            }))
            .await?;
        let late_ms = now_millis().saturating_sub(page.tweet_id.millis());
        self.receipts.add(&page, served, delivered, late_ms).await?;
        report(
            page.tweet_id,
            late_ms,
            served,
            delivered,
            page.depth,
            handed_over,
        );
        Ok(())
    }

    async fn push(&self, page: &FanOutPage, followers: &[UserId]) -> Result<usize> {
        let delivered = self
            .timelines
            .deliver(page.entry(), followers, now_millis())
            .await?;
        self.announcer.to_readers(followers).await?;
        Ok(delivered)
    }

    /// How many followers are left. Only the first page can tell, out of what its author has in all; the others know what
    /// was told to them.
    async fn left(&self, page: &FanOutPage, served: u64) -> Result<Left> {
        let in_all = if page.depth > 0 {
            page.left.map(Left::AtMost)
        } else {
            let followers = self.counts.followers(page.author_id).await?;
            followers.map(Left::About)
        };
        Ok(Left::of(in_all.unwrap_or(Left::Unknown), served))
    }

    /// The next followers; none if nobody is left, or if this invocation has served its share.
    async fn read(
        &self,
        page: &FanOutPage,
        left: Option<FollowerRange>,
        served: usize,
    ) -> Result<IdPage> {
        let limit = QUERY.min(self.page_size.saturating_sub(served));
        match left {
            Some(range) if limit > 0 => self.followers.in_range(page.author_id, range, limit).await,
            _ => Ok(IdPage::default()),
        }
    }
}

/// Counts one page of followers and logs it. The page of the local cloud draws fan-outs by this line.
pub(super) fn report(
    tweet: TweetId,
    late_ms: u64,
    followers: usize,
    delivered: usize,
    depth: u32,
    handed_over: usize,
) {
    metrics::DELIVERIES.add(delivered);
    metrics::FAN_OUT_LAG.record(late_ms);
    tracing::info!(
        tweet_id = %tweet,
        depth,
        followers,
        delivered,
        handed_over,
        age_ms = late_ms,
        "fan-out page delivered"
    );
}
