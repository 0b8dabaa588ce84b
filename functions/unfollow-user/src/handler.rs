use lambda_http::Request;
use shared::Result;
use shared::domain::UserId;
use shared::flows::edges;
use shared::runtime::http::{self, HttpResponse};
use shared::stores::follows::Edge;
use shared::stores::{Follows, Identities, Timelines};

pub(crate) struct UnfollowUser {
    pub(crate) follows: Follows,
    pub(crate) timelines: Timelines,
    pub(crate) identities: Identities,
}

impl UnfollowUser {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        let me = http::caller(&request, &self.identities).await?;
        let followee = UserId::parse(http::path(&request, "id"))?;
        if followee == me {
            return Err(shared::Error::Invalid(
                "you cannot unfollow yourself".to_owned(),
            ));
        }
        let edge = Edge::new(me, followee);
        self.follows.unfollow(edge).await?;
        edges::settle(&self.follows, &self.timelines, edge, false).await?;
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
