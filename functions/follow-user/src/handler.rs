use shared::domain::UserId;
use shared::flows::edges::EdgeSettler;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::follows::{Edge, Followed};
use shared::stores::relations::BLOCKED;
use shared::stores::{Following, Follows, Relations, Users};
use shared::{Error, Result, Roost};

/// Of so many follows, one is checked against the edges themselves.
const COUNTED_ONE_IN: u32 = 32;

pub(crate) struct FollowUser {
    users: Users,
    follows: Follows,
    following: Following,
    relations: Relations,
    edges: EdgeSettler,
    /// How many people one may follow.
    limit: u64,
}

impl http::Handler for FollowUser {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            follows: Follows::new(roost)?,
            following: Following::new(roost)?,
            relations: Relations::new(roost)?,
            edges: EdgeSettler::new(roost)?,
            limit: roost.config.follow_limit()?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let followee = http::user_id(request, me)?;
        if followee == me {
            return Err(Error::Yourself("follow"));
        }
        let edge = Edge::new(me, followee);
        tokio::try_join!(self.users.get(followee), self.check_limit(edge))?;
        let refusal = match self.follows.follow(edge, &self.relations).await? {
            Followed::Yes => None,
            Followed::BlockedByFollower => Some("you have blocked this user; unblock them first"),
            Followed::BlockedByFollowee => Some(BLOCKED),
        };
        if let Some(refusal) = refusal {
            return Err(Error::Blocked(refusal));
        }
        self.undo_without_profiles(edge).await?;
        self.edges.settle(edge, true).await?;
        http::no_content()
    }
}

impl FollowUser {
    /// The count in the caller's row is cheap to read, and lags behind the edges by as long as the stream does. So it
    /// decides alone only if it is below the limit, and not always: now and then the edges are counted themselves. A caller
    /// gets past the limit by about [`COUNTED_ONE_IN`] people, and by 500 in one case of eight million, however far the
    /// count lags. Requests that are under way at the same time do not see each other's edges, and may add as many as they
    /// are.
    async fn check_limit(&self, edge: Edge) -> Result<()> {
        let me = edge.follower();
        let row = self.users.row(me).await?.ok_or(Error::NoProfile)?;
        if row.following() < self.limit && fastrand::u32(..COUNTED_ONE_IN) > 0 {
            return Ok(());
        }
        // Somebody who is followed already can be followed again.
        let count = self.following.count(me).await?;
        if count < self.limit || self.following.contains(edge).await? {
            return Ok(());
        }
        Err(Error::LimitReached(format!(
            "you follow {count} people already, and may follow {} at most",
            self.limit
        )))
    }

    /// One of the two accounts may have been deleted meanwhile, and its edges perhaps before this one was made.
    async fn undo_without_profiles(&self, edge: Edge) -> Result<()> {
        let (me, followee) = (edge.follower(), edge.followee());
        let exist = tokio::try_join!(
            self.users.still_exists(me),
            self.users.still_exists(followee)
        )?;
        let error = match exist {
            (true, true) => return Ok(()),
            (true, false) => Error::NoUser(followee),
            (false, _) => Error::NoProfile,
        };
        self.follows.unfollow(edge).await?;
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/follow-user.json");

    #[test]
    fn the_event_names_whom_to_follow() {
        assert!(UserId::parse(http::path(&test::request(EVENT), "id")).is_ok());
    }
}
