use std::collections::BTreeMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use shared::domain::{Entry, Origin, UserId};
use shared::flows::edges::EdgeSettler;
use shared::flows::tiers::AuthorTiers;
use shared::platform::now_millis;
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::follows::Edge;
use shared::stores::tweets::NEWEST;
use shared::stores::{Celebs, Listeners, Timelines, Tweets, Users};
use shared::{Result, Roost};

/// Edges applied at once.
const CONCURRENCY: usize = 16;

/// How often the author's tier may change meanwhile before the record is retried.
const ATTEMPTS: usize = 4;

pub(crate) struct ApplyFollows {
    edges: EdgeSettler,
    tiers: AuthorTiers,
    tweets: Tweets,
    users: Users,
    celebs: Celebs,
    listeners: Listeners,
    timelines: Timelines,
}

impl Consumer for ApplyFollows {
    type Record = TableRecord;
    const CHUNK: usize = 100;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            edges: EdgeSettler::new(roost)?,
            tiers: AuthorTiers::new(roost)?,
            tweets: Tweets::new(roost)?,
            users: Users::new(roost)?,
            celebs: Celebs::new(roost)?,
            listeners: Listeners::new(roost)?,
            timelines: Timelines::new(roost)?,
        })
    }

    /// A record says that the edge changed; how it is now, the table says. So a record that comes late or again does
    /// no harm.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let edges = self.of_active_followers(records).await?;
        let applied: Vec<_> = edges
            .into_iter()
            .map(|(edge, followed)| self.apply(edge, followed))
            .collect();
        stream::iter(applied)
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await
    }
}

impl ApplyFollows {
    /// The edges that matter, each with what the last record says of it: `true` if it was made. A follower who has nothing
    /// in Redis will find the edge in the table when they read; that is most people, most of the time.
    async fn of_active_followers(&self, records: &[TableRecord]) -> Result<BTreeMap<Edge, bool>> {
        let mut edges = BTreeMap::new();
        for record in records {
            edges.insert(batch::key(record)?, batch::was_inserted(record)?);
        }
        let followers: Vec<UserId> = edges.keys().map(|edge: &Edge| edge.follower()).collect();
        let active = self.timelines.cached(&followers).await?;
        edges.retain(|edge, _| active.contains(&edge.follower()));
        Ok(edges)
    }

    async fn apply(&self, edge: Edge, followed: bool) -> Result<()> {
        // An author whose account was deleted need not be hidden: there is nothing left to see.
        let to_settle = followed || self.users.still_exists(edge.followee()).await?;
        if to_settle {
            return match self.edges.settle(edge, followed).await? {
                true => self.followed(edge).await,
                false => Ok(()),
            };
        }
        self.celebs
            .remove(&[edge.follower()], edge.followee())
            .await?;
        self.timelines
            .remove_author(edge.follower(), edge.followee())
            .await
    }

    /// A celebrity is pulled from now on; the tweets of any other author are backfilled.
    async fn followed(&self, edge: Edge) -> Result<()> {
        let (follower, author) = ([edge.follower()], edge.followee());
        let mut pulled = self.tiers.one(author).await?.tier.is_celebrity();
        for _ in 0..ATTEMPTS {
            if pulled {
                self.celebs.add(&follower, author).await?;
                self.listeners
                    .add_fans(author, &follower, now_millis())
                    .await?;
            } else {
                self.celebs.remove(&follower, author).await?;
                self.backfill(edge).await?;
            }
            // A flip tells all followers it finds. If it began after our look, it may not have found this one.
            let now = self
                .users
                .row(author)
                .await?
                .is_some_and(|row| row.tier.is_celebrity());
            if now == pulled {
                return Ok(());
            }
            pulled = now;
        }
        Err(shared::Error::GaveUp(
            "following an author whose tier keeps flipping",
        ))
    }

    /// Gives an existing list the followee's tweets as deep as the list reaches. A missing list is left missing: its
    /// rebuild will find the edge.
    async fn backfill(&self, edge: Edge) -> Result<()> {
        let Some(depth) = self.timelines.depth(edge.follower()).await? else {
            return Ok(());
        };
        let most = self.timelines.backfill_size();
        let recent = self
            .tweets
            .newest_entries(edge.followee(), depth, NEWEST, most)
            .await?;
        let recent: Vec<Entry> = recent
            .into_iter()
            .map(|entry| entry.by(Origin::Backfilled))
            .collect();
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
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        let edge: Edge = batch::key(&batch.records[0]).expect("a key");
        assert!(batch::was_inserted(&batch.records[0]).expect("an event name"));
        assert_ne!(edge.follower(), edge.followee());
    }
}
