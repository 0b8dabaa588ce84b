//! The people who follow somebody: the table `followers`.

use super::dynamo::number;
use super::edge_view::{EdgeView, IdPage};
use crate::Result;
use crate::domain::{FollowerPlace, FollowerRange, PeopleCursor, UserId};
use crate::platform::Roost;

#[derive(Clone)]
pub struct Followers(EdgeView);

impl Followers {
    pub fn new(roost: &Roost) -> Result<Self> {
        let table = roost.config.followers_table()?;
        Ok(Self(EdgeView::new(
            roost,
            table,
            "followee_id",
            "follower_id",
        )))
    }

    pub async fn page(&self, of: UserId, after: Option<UserId>, limit: usize) -> Result<IdPage> {
        self.0.page(of, after, limit).await
    }

    /// Up to so many followers behind a place, in the order of their ids.
    ///
    /// Not in the order of time: that would take an index on the followed person, which a celebrity's new followers would
    /// make hot, and a hot index holds every follow of that person back.
    pub async fn list(
        &self,
        of: UserId,
        after: Option<FollowerPlace>,
        limit: usize,
    ) -> Result<Vec<FollowerPlace>> {
        let page = self.page(of, after.map(PeopleCursor::user), limit).await?;
        Ok(page.ids.into_iter().map(FollowerPlace).collect())
    }

    /// The author's largest follower id: the end of the fan-out's range.
    pub async fn last(&self, author: UserId) -> Result<Option<UserId>> {
        let query = self.0.query(author).scan_index_forward(false).limit(1);
        Ok(self.0.ids(query).await?.ids.pop())
    }

    /// The first followers of a range, in the order of their ids.
    ///
    /// Consistent, because a follower who was there before the tweet and is not found here is never found again.
    pub async fn in_range(
        &self,
        author: UserId,
        range: FollowerRange,
        limit: usize,
    ) -> Result<IdPage> {
        let query = self
            .0
            .query(author)
            .key_condition_expression("followee_id = :of AND follower_id BETWEEN :first AND :last")
            .expression_attribute_values(":first", number(range.after().get() + 1))
            .expression_attribute_values(":last", number(range.to().get()))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        self.0.ids(query).await
    }

    /// How many edges there really are.
    pub async fn count(&self, of: UserId) -> Result<u64> {
        self.0.count(of).await
    }
}
