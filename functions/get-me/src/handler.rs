use shared::domain::UserId;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::Users;
use shared::{Error, Result, Roost};

pub(crate) struct GetMe {
    users: Users,
}

impl http::Handler for GetMe {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, _: &Request) -> Result<HttpResponse> {
        http::ok(&self.users.find(me).await?.ok_or(Error::NoProfile)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/get-me.json");

    #[test]
    fn the_event_is_alices() {
        assert_eq!(
            http::subject(&test::request(EVENT)).expect("a subject"),
            "alice"
        );
    }
}
