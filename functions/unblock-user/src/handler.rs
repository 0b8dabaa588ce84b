use shared::domain::{Relation, UserId};
use shared::flows::relating::Relating;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::{Result, Roost};

pub(crate) struct UnblockUser {
    relating: Relating,
}

impl http::Handler for UnblockUser {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            relating: Relating::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let other = http::user_id(request, me)?;
        self.relating.end(Relation::Block, me, other).await?;
        http::no_content()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/unblock-user.json");

    #[test]
    fn the_event_names_whom_to_unblock() {
        let (me, request) = (UserId::new(1), test::request(EVENT));
        assert!(http::user_id(&request, me).is_ok_and(|other| other != me));
    }
}
