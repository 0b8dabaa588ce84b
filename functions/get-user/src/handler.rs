use shared::domain::UserId;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::runtime::people::{Expansion, Presenter};
use shared::stores::Users;
use shared::{Result, Roost};

pub(crate) struct GetUser {
    users: Users,
    presenter: Presenter,
}

impl http::Handler for GetUser {
    const PARAMETERS: &[&str] = &["expand"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            presenter: Presenter::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let (id, expansion) = (http::user_id(request, me)?, Expansion::parse(request)?);
        let user = self.users.get(id).await?;
        self.presenter.answer(me, user, expansion).await
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
