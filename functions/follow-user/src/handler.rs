use lambda_http::Request;
use shared::domain::UserId;
use shared::flows::edges;
use shared::runtime::http::{self, HttpResponse};
use shared::stores::follows::Edge;
use shared::stores::{Follows, Identities, Timelines, Users};
use shared::{Error, Result};

pub(crate) struct FollowUser {
    pub(crate) users: Users,
    pub(crate) follows: Follows,
    pub(crate) timelines: Timelines,
    pub(crate) identities: Identities,
}

impl FollowUser {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        let me = http::caller(&request, &self.identities).await?;
        let followee = UserId::parse(http::path(&request, "id"))?;
        if followee == me {
            return Err(Error::Invalid("you cannot follow yourself".to_owned()));
        }
        self.users.get(followee).await?;
        let edge = Edge::new(me, followee);
        self.follows.follow(edge).await?;
        self.undo_without_profiles(edge).await?;
        edges::settle(&self.follows, &self.timelines, edge, true).await?;
        http::no_content()
    }

    /// One of the two may have been deleted meanwhile, and its edges perhaps before this one.
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
