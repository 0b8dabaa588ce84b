use shared::domain::UserId;
use shared::flows::edges::EdgeSettler;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::Follows;
use shared::stores::follows::Edge;
use shared::{Error, Result, Roost};

pub(crate) struct UnfollowUser {
    follows: Follows,
    edges: EdgeSettler,
}

impl http::Handler for UnfollowUser {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            follows: Follows::new(roost)?,
            edges: EdgeSettler::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let followee = http::user_id(request, me)?;
        if followee == me {
            return Err(Error::Yourself("unfollow"));
        }
        let edge = Edge::new(me, followee);
        if self.follows.unfollow(edge).await? {
            self.edges.settle(edge, false).await?;
        } else {
            self.edges.settle_leftovers(edge).await?;
        }
        http::no_content()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/unfollow-user.json");

    #[test]
    fn the_event_names_whom_to_unfollow() {
        assert!(UserId::parse(http::path(&test::request(EVENT), "id")).is_ok());
    }
}
