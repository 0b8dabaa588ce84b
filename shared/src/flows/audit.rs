//! Comparing what some readers are served with what the tables say, and repairing what differs.
//!
//! Only people whose list is in Redis are looked at, because only they can be served something wrong from it. Very young
//! tweets may still be on their way and do not count. Any other difference must be there twice, a while apart. To repair
//! is to forget: what Redis does not have is read from the tables.

use std::time::Duration;

use tokio::time::sleep;

use super::home_timeline::HomeTimelines;
use super::oracle::Oracle;
use crate::Result;
use crate::domain::audit::{Difference, compare};
use crate::domain::{Entry, PageSize, TweetId, UserId};
use crate::platform::{Roost, metrics, now_millis};
use crate::stores::{Cards, Feeds, Reacted, Timelines, UserCounts};

/// How old a tweet must be to be missed.
const SETTLED_MS: u64 = 60_000;

/// Between the two comparisons: longer than a sandbox remembers feeds.
const SECOND_LOOK: Duration = Duration::from_secs(2);

pub struct Audit {
    home: HomeTimelines,
    timelines: Timelines,
    cards: Cards,
    feeds: Feeds,
    counts: UserCounts,
    reacted: Reacted,
    oracle: Oracle,
}

impl Audit {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            home: HomeTimelines::new(roost)?.without_renewal(),
            timelines: Timelines::new(roost)?,
            cards: Cards::new(roost)?,
            feeds: Feeds::new(roost)?,
            counts: UserCounts::new(roost)?,
            reacted: Reacted::new(roost)?,
            oracle: Oracle::new(roost)?,
        })
    }

    /// Audits those of these users who have a list. Gives how many they are, and how many were served something wrong.
    /// Users whose page or tables cannot be read are reported and left out.
    pub async fn run(&self, users: &[UserId]) -> Result<(usize, usize)> {
        let active = self.timelines.active(users).await?;
        let mut suspects = Vec::new();
        for user in &active {
            let difference = self.difference_or_none(*user).await?;
            if !difference.is_empty() {
                suspects.push((*user, difference));
            }
        }
        if !suspects.is_empty() {
            sleep(SECOND_LOOK).await;
        }
        let mut wrong = 0;
        for (user, first) in suspects {
            let difference = self.difference_or_none(user).await?.both(&first);
            if !difference.is_empty() {
                wrong += 1;
                self.repair(user, &difference).await?;
            }
        }
        metrics::AUDITED_PAGES.add(active.len());
        metrics::AUDIT_DIFFERENCES.add(wrong);
        Ok((active.len(), wrong))
    }

    async fn difference_or_none(&self, user: UserId) -> Result<Difference> {
        match self.difference(user).await {
            Err(error) if !error.may_pass() => {
                tracing::error!(user_id = %user, error = error.chain(), "user left out");
                Ok(Difference::default())
            }
            known => known,
        }
    }

    /// The first page as it is served, against what it has to be.
    async fn difference(&self, user: UserId) -> Result<Difference> {
        let size = PageSize::MAX_SIZE;
        let page = self.home.page(user, None, size, None).await;
        if !page.troubles.is_empty() {
            // It says itself that something may be missing.
            return Ok(Difference::default());
        }
        // Read after the page: what was deleted, unfollowed, muted, blocked or hidden before it was read must not be on it.
        let truth = self.oracle.home_timeline(user, size.get()).await?;
        let served: Vec<Entry> = page.tweets.iter().map(|listed| listed.place).collect();
        let settled = TweetId::first_at(now_millis().saturating_sub(SETTLED_MS));
        Ok(compare(&served, &truth, settled, page.more))
    }

    async fn repair(&self, user: UserId, difference: &Difference) -> Result<()> {
        tracing::error!(
            user_id = %user,
            missing = ?difference.missing.iter().map(|entry| entry.tweet.get()).collect::<Vec<_>>(),
            ghosts = ?difference.ghosts.iter().map(|entry| entry.tweet.get()).collect::<Vec<_>>(),
            "served page differs from the tables"
        );
        self.timelines.forget(user).await?;
        self.reacted.forget(user).await?;
        self.cards.forget_tweets(&difference.tweets()).await?;
        let authors = difference.authors();
        self.feeds.forget(authors.iter().copied()).await?;
        self.counts.forget(authors).await
    }
}
