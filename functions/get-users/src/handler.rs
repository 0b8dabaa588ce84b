use shared::domain::UserId;
use shared::flows::lookup::People;
use shared::runtime::http::{self, HttpResponse, Page, Request};
use shared::{Result, Roost};

pub(crate) struct GetUsers {
    people: People,
}

impl http::Handler for GetUsers {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            people: People::new(roost)?,
        })
    }

    async fn handle(&self, _: UserId, request: &Request) -> Result<HttpResponse> {
        let ids = http::ids(request, UserId::parse)?;
        let users = self.people.list(ids.as_slice()).await?;
        http::ok(&Page::new(users, None))
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
        assert!(matches!(ids, Err(shared::Error::Malformed(_))));
    }
}
