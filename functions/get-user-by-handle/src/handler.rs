use lambda_http::Request;
use shared::domain::Handle;
use shared::runtime::http::{self, HttpResponse};
use shared::stores::{Identities, Users};
use shared::{Error, Result};

pub(crate) struct GetUserByHandle {
    pub(crate) users: Users,
    pub(crate) identities: Identities,
}

impl GetUserByHandle {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        http::caller(&request, &self.identities).await?;
        let asked = http::path(&request, "handle");
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
