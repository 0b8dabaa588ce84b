//! The people whom somebody follows: the table `following`.

use std::collections::HashSet;

use super::dynamo::{failed, from_item, get_many, to_item};
use super::edge_view::{EdgeView, IdPage};
use super::follows::Edge;
use crate::Result;
use crate::domain::UserId;
use crate::platform::Roost;

#[derive(Clone)]
pub struct Following(EdgeView);

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
