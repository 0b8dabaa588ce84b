use serde::Serialize;
use shared::domain::Handle;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::Users;
use shared::{Error, Result, Roost};

pub(crate) struct CheckHandle {
    users: Users,
}

#[derive(Serialize)]
struct Body {
    available: bool,
}

impl http::SubjectHandler for CheckHandle {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
        })
    }

    async fn handle(&self, _: &str, request: &Request) -> Result<HttpResponse> {
        let handle = read(request)?;
        let available = !handle.is_reserved() && !self.users.is_taken(&handle).await?;
        http::ok(&Body { available })
    }
}

/// Here a handle is a part of the address, so one that cannot be is malformed.
fn read(request: &Request) -> Result<Handle> {
    Handle::parse(http::path(request, "handle"))
        .map_err(|error| Error::Malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/check-handle.json");

    #[test]
    fn the_event_names_a_handle() {
        let handle = read(&test::request(EVENT)).expect("a handle");
        assert_eq!(handle.as_str(), "robin");
    }

    #[test]
    fn what_cannot_be_a_handle_is_malformed() {
        let event = EVENT.replace("robin", "rob-in");
        assert!(matches!(
            read(&test::request(&event)),
            Err(Error::Malformed(_))
        ));
    }
}
