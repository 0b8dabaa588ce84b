use shared::domain::UserId;
use shared::flows::relating::Blocking;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::{Result, Roost};

pub(crate) struct BlockUser {
    blocking: Blocking,
}

impl http::Handler for BlockUser {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            blocking: Blocking::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let other = http::user_id(request, me)?;
        self.blocking.block(me, other).await?;
        http::no_content()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/block-user.json");

    #[test]
    fn the_event_names_whom_to_block() {
        let (me, request) = (UserId::new(1), test::request(EVENT));
        assert!(http::user_id(&request, me).is_ok_and(|other| other != me));
    }
}
