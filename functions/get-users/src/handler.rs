use shared::domain::UserId;
use shared::flows::lookup::People;
use shared::runtime::http::{self, HttpResponse, Page, Request};
use shared::runtime::people::{Expansion, Presenter};
use shared::{Result, Roost};

pub(crate) struct GetUsers {
    people: People,
    presenter: Presenter,
}

impl http::Handler for GetUsers {
    const PARAMETERS: &[&str] = &["ids", "expand"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            people: People::new(roost)?,
            presenter: Presenter::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let ids = http::ids(request, UserId::parse);
        let (ids, expansion) = http::both(ids, Expansion::parse(request))?;
        let users = self.people.list(ids.as_slice()).await?;
        let people = self.presenter.present(me, users, expansion).await?;
        http::ok(&Page::new(people, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/get-users.json");

    #[test]
    fn the_event_asks_for_two_people() {
        let ids = http::ids(&test::request(EVENT), UserId::parse).expect("ids");
        assert_eq!(ids.as_slice().len(), 2);
    }

    #[test]
    fn without_ids_a_request_is_malformed() {
        let event = EVENT.replace("ids=", "idz=");
        let ids = http::ids(&test::request(&event), UserId::parse);
        assert!(matches!(ids, Err(shared::Error::WrongParameters(_))));
    }
}
