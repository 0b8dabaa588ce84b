use lambda_http::Request;
use shared::Result;
use shared::domain::UserId;
use shared::runtime::http::{self, HttpResponse};
use shared::stores::{Identities, Users};

pub(crate) struct GetUser {
    pub(crate) users: Users,
    pub(crate) identities: Identities,
}

impl GetUser {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        http::caller(&request, &self.identities).await?;
        let id = UserId::parse(http::path(&request, "id"))?;
        http::ok(&self.users.get(id).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/get-user.json");

    #[test]
    fn the_event_names_a_user() {
        assert!(UserId::parse(http::path(&test::request(EVENT), "id")).is_ok());
    }
}
