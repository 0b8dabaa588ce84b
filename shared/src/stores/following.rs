//! The people whom somebody follows: the table `following`.
//!
//! Its index [`BY_TIME`] has the edges of one follower in the order of time. Edges from before the time was kept are not
//! in it, so a list goes on with them at its end. The index lags behind the table by a moment.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::dynamo::{failed, from_item, get_many, number, to_item};
use super::edge_view::{EdgeView, IdPage};
use super::follows::Edge;
use crate::Result;
use crate::domain::{FollowedPlace, UserId};
use crate::platform::Roost;

#[derive(Clone)]
pub struct Following(EdgeView);

/// Partitioned by the follower, so that nobody but the follower writes to a partition.
const BY_TIME: &str = "by_time";

/// An edge as `following` keeps it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct TimedEdge {
    #[serde(flatten)]
    edge: Edge,
    /// In milliseconds since 1970.
    followed_at: u64,
}

impl TimedEdge {
    pub(super) const fn new(edge: Edge, followed_at: u64) -> Self {
        Self { edge, followed_at }
    }

    const fn place(self) -> FollowedPlace {
        FollowedPlace::At(self.followed_at, self.edge.followee())
    }
}

#[derive(Deserialize)]
struct FolloweeOnly {
    followee_id: u64,
}

impl Following {
    pub fn new(roost: &Roost) -> Result<Self> {
        let table = roost.config.following_table()?;
        Ok(Self(EdgeView::new(
            roost,
            table,
            "follower_id",
            "followee_id",
        )))
    }

    pub async fn page(&self, of: UserId, after: Option<UserId>, limit: usize) -> Result<IdPage> {
        self.0.page(of, after, limit).await
    }

    /// Up to so many followed people behind a place: the last followed first, then those of whom nobody knows when.
    pub async fn newest(
        &self,
        of: UserId,
        after: Option<FollowedPlace>,
        limit: usize,
    ) -> Result<Vec<FollowedPlace>> {
        let (mut places, after) = match after {
            None => (self.timed(of, None, limit).await?, None),
            Some(FollowedPlace::At(at, user)) => {
                let last = TimedEdge::new(Edge::new(of, user), at);
                (self.timed(of, Some(last), limit).await?, None)
            }
            Some(FollowedPlace::Before(user)) => (Vec::new(), Some(user)),
        };
        if places.len() < limit {
            let left = limit - places.len();
            places.extend(self.untimed(of, after, left).await?);
        }
        Ok(places)
    }

    /// Those who are in the index.
    async fn timed(
        &self,
        of: UserId,
        after: Option<TimedEdge>,
        limit: usize,
    ) -> Result<Vec<FollowedPlace>> {
        let start = after.map(|after| to_item(&after)).transpose()?;
        let answer = self
            .0
            .client
            .query()
            .table_name(&self.0.table)
            .index_name(BY_TIME)
            .key_condition_expression("follower_id = :of")
            .expression_attribute_values(":of", number(of.get()))
            .scan_index_forward(false)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(failed("Query"))?;
        let items = answer.items.unwrap_or_default().into_iter();
        items
            .map(|item| from_item("an edge", item).map(TimedEdge::place))
            .collect()
    }

    /// Those who are not in the index. Reads all edges behind a place, a megabyte a query; an edge is less than 100 bytes.
    async fn untimed(
        &self,
        of: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<FollowedPlace>> {
        let mut places = Vec::new();
        let mut start = after
            .map(|user| to_item(&Edge::new(of, user)))
            .transpose()?;
        loop {
            let query = self
                .0
                .query(of)
                .filter_expression("attribute_not_exists(followed_at)")
                .set_exclusive_start_key(start);
            let answer = query.send().await.map_err(failed("Query"))?;
            for item in answer.items.unwrap_or_default() {
                let edge: FolloweeOnly = from_item("an edge", item)?;
                places.push(FollowedPlace::Before(UserId::new(edge.followee_id)));
            }
            start = answer.last_evaluated_key;
            if start.is_none() || places.len() >= limit {
                places.truncate(limit);
                return Ok(places);
            }
        }
    }

    /// Everybody whom this user follows.
    pub async fn all(&self, of: UserId) -> Result<Vec<UserId>> {
        const PAGE: usize = 1_000;
        let mut all = Vec::new();
        loop {
            let page = self.page(of, all.last().copied(), PAGE).await?;
            all.extend(page.ids);
            if !page.more {
                return Ok(all);
            }
        }
    }

    /// Is there such an edge?
    pub async fn contains(&self, edge: Edge) -> Result<bool> {
        let answer = self
            .0
            .client
            .get_item()
            .table_name(&self.0.table)
            .set_key(Some(to_item(&edge)?))
            .consistent_read(true)
            .send()
            .await;
        Ok(answer.map_err(failed("GetItem"))?.item.is_some())
    }

    /// Which of these edges there are. One batch for every hundred; a read that need not be consistent costs half.
    pub async fn existing(&self, edges: &[Edge], consistent: bool) -> Result<HashSet<Edge>> {
        let keys = edges.iter().map(to_item).collect::<Result<_>>()?;
        let items = get_many(&self.0.client, &self.0.table, keys, consistent).await?;
        let edges = items.into_iter().map(|item| from_item("an edge", item));
        edges.collect()
    }

    /// How many edges there really are.
    pub async fn count(&self, of: UserId) -> Result<u64> {
        self.0.count(of).await
    }
}
