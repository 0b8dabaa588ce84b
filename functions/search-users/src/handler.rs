use shared::domain::{HandlePrefix, UserId};
use shared::flows::lookup::People;
use shared::runtime::http::{self, HttpResponse, Page, Request};
use shared::runtime::people::{Expansion, Presenter};
use shared::stores::Users;
use shared::{Result, Roost};

/// The most people that a search finds.
const MOST: usize = 20;

pub(crate) struct SearchUsers {
    users: Users,
    people: People,
    presenter: Presenter,
}

impl http::Handler for SearchUsers {
    const PARAMETERS: &[&str] = &["q", "expand"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            people: People::new(roost)?,
            presenter: Presenter::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let (prefix, expansion) = http::both(read(request), Expansion::parse(request))?;
        let ids = self.users.find_by_prefix(&prefix, MOST).await?;
        let users = self.people.list(&ids).await?;
        let people = self.presenter.present(me, users, expansion).await?;
        http::ok(&Page::new(people, None))
    }
}

fn read(request: &Request) -> Result<HandlePrefix> {
    let asked = http::parameter(request, "q", HandlePrefix::parse)?;
    asked.ok_or_else(|| http::wrong_parameter("q", "q is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::Error;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/search-users.json");

    #[test]
    fn the_event_looks_for_a_beginning() {
        let prefix = read(&test::request(EVENT)).expect("a beginning");
        assert_eq!(prefix.as_str(), "ali");
    }

    #[test]
    fn without_a_beginning_a_request_is_malformed() {
        for query in ["", "q=", "q=a", "p=ali"] {
            let event = EVENT.replace("q=ali", query);
            let read = read(&test::request(&event));
            assert!(matches!(read, Err(Error::WrongParameters(_))), "{query}");
        }
    }
}
