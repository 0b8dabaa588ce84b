use lambda_http::Request;
use shared::runtime::http::{self, HttpResponse};
use shared::stores::{Identities, Users};
use shared::{Error, Result};

pub(crate) struct GetMe {
    pub(crate) users: Users,
    pub(crate) identities: Identities,
}

impl GetMe {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        let me = http::caller(&request, &self.identities).await?;
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
