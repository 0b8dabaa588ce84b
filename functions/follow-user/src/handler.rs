use shared::domain::UserId;
use shared::flows::edges::EdgeSettler;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::follows::Edge;
use shared::stores::{Follows, Users};
use shared::{Error, Result, Roost};

pub(crate) struct FollowUser {
    users: Users,
    follows: Follows,
    edges: EdgeSettler,
}

impl http::Handler for FollowUser {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            follows: Follows::new(roost)?,
            edges: EdgeSettler::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let followee = UserId::parse(http::path(request, "id"))?;
        if followee == me {
            return Err(Error::Invalid("you cannot follow yourself".to_owned()));
        }
        self.users.get(followee).await?;
        let edge = Edge::new(me, followee);
        self.follows.follow(edge).await?;
        self.undo_without_profiles(edge).await?;
        self.edges.settle(edge, true).await?;
        http::no_content()
    }
}

impl FollowUser {
    /// One of the two accounts may have been deleted meanwhile, and its edges perhaps before this one was made.
    async fn undo_without_profiles(&self, edge: Edge) -> Result<()> {
        let (me, followee) = (edge.follower(), edge.followee());
        let exist = tokio::try_join!(
            self.users.still_exists(me),
            self.users.still_exists(followee)
        )?;
        let error = match exist {
            (true, true) => return Ok(()),
            (true, false) => Error::NotFound(format!("there is no user {followee}")),
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
