//! Delivering a small author's tweet before their POST is answered: their followers do not wait for a stream.
//!
//! The stream brings the same tweet a moment later, finds in its receipt that everybody has it, and pushes nothing. No
//! tweet depends on this: if a part of it fails or takes too long, the receipt does not say so, and the stream delivers.

use std::time::Duration;

use tokio::time::timeout;

use super::fan_out;
use super::live::Announcer;
use crate::Result;
use crate::domain::{Entry, UserId};
use crate::platform::{Roost, now_millis};
use crate::stores::{Followers, Receipts, Timelines, UserCounts};

/// How long somebody who posts waits for it at the most. Usually it is a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(1);

pub struct AtOnce {
    counts: UserCounts,
    followers: Followers,
    timelines: Timelines,
    announcer: Announcer,
    receipts: Receipts,
    /// So many followers make a small author.
    most: usize,
}

impl AtOnce {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            counts: UserCounts::new(roost)?,
            followers: Followers::new(roost)?,
            timelines: Timelines::new(roost)?,
            announcer: Announcer::new(roost)?,
            receipts: Receipts::new(roost)?,
            most: roost.config.sync_fan_out_followers()?,
        })
    }

    /// Whether this is perhaps a small author. Redis says it, so that an author with a million followers costs no query. It
    /// need not be right: what counts is how many are found.
    pub async fn may_be_small(&self, author: UserId) -> bool {
        if self.most == 0 {
            return false;
        }
        match self.counts.standing(author).await {
            Ok(Some((followers, tier))) => followers <= self.most as u64 && tier.pushes(),
            // Not known yet: the query is bounded, too.
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// All followers of a small author; `None` if there are too many. To be asked after the tweet was stored: people who
    /// follow later find it in the table, and those who followed before are among these.
    pub async fn followers(&self, author: UserId) -> Option<Vec<UserId>> {
        let read = self.followers.page(author, None, self.most + 1);
        match timeout(PATIENCE, read).await {
            Ok(Ok(page)) if page.ids.len() <= self.most && !page.more => Some(page.ids),
            Ok(Ok(_)) => None,
            Ok(Err(error)) => {
                tracing::warn!(error = error.chain(), "followers not read, the stream will");
                None
            }
            Err(_) => {
                tracing::warn!("followers not read in time, the stream will");
                None
            }
        }
    }

    /// Delivers to these followers, which are all that there are.
    pub async fn deliver(&self, entry: Entry, followers: &[UserId]) {
        match timeout(PATIENCE, self.try_deliver(entry, followers)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(
                    error = error.chain(),
                    "not delivered at once, the stream will"
                );
            }
            Err(_) => tracing::warn!("not delivered in time, the stream will"),
        }
    }

    async fn try_deliver(&self, entry: Entry, followers: &[UserId]) -> Result<()> {
        let delivered = self
            .timelines
            .deliver(entry, followers, now_millis())
            .await?;
        self.announcer.to_readers(followers).await?;
        let late_ms = now_millis().saturating_sub(entry.tweet.millis());
        // Last: it says that nothing is left to do.
        self.receipts
            .at_once(entry.tweet, followers.len(), delivered, late_ms)
            .await?;
        fan_out::report(entry.tweet, late_ms, followers.len(), delivered, 0, 0);
        Ok(())
    }
}
