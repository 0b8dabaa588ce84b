use shared::domain::{Handle, UserId};
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::Users;
use shared::{Error, Result, Roost};

pub(crate) struct GetUserByHandle {
    users: Users,
}

impl http::Handler for GetUserByHandle {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
        })
    }

    async fn handle(&self, _: UserId, request: &Request) -> Result<HttpResponse> {
        let asked = http::path(request, "handle");
        // What cannot be a handle is nobody's.
        let found = match Handle::parse(asked) {
            Ok(handle) => self.users.find_by_handle(&handle).await?,
            Err(_) => None,
        };
        http::ok(&found.ok_or_else(|| Error::NotFound("nobody has this handle".to_owned()))?)
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
