use shared::domain::{Handle, UserId};
use shared::runtime::http::{self, HttpResponse, Request};
use shared::runtime::people::{Expansion, Presenter};
use shared::stores::Users;
use shared::{Error, Result, Roost};

pub(crate) struct GetUserByHandle {
    users: Users,
    presenter: Presenter,
}

impl http::Handler for GetUserByHandle {
    const PARAMETERS: &[&str] = &["expand"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            presenter: Presenter::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let (asked, expansion) = (http::path(request, "handle"), Expansion::parse(request)?);
        // What cannot be a handle is nobody's.
        let found = match Handle::parse(asked) {
            Ok(handle) => self.users.find_by_handle(&handle).await?,
            Err(_) => None,
        };
        let user = found.ok_or(Error::NoHandle)?;
        self.presenter.answer(me, user, expansion).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/get-user-by-handle.json");

    #[test]
    fn the_event_names_a_handle() {
        let request = test::request(EVENT);
        assert_eq!(
            Handle::parse(http::path(&request, "handle"))
                .expect("a handle")
                .as_str(),
            "bob"
        );
    }
}
