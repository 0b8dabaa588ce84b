use serde::Deserialize;
use shared::domain::{DisplayName, Handle, UserId};
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::users::SignUp;
use shared::stores::{Identities, Ids, Users};
use shared::{Result, Roost};

pub(crate) struct CreateUser {
    ids: Ids,
    users: Users,
    identities: Identities,
}

#[derive(Deserialize)]
struct Body {
    handle: String,
    name: String,
}

impl http::SubjectHandler for CreateUser {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            ids: Ids::new(roost)?,
            users: Users::new(roost)?,
            identities: Identities::new(roost)?,
        })
    }

    async fn handle(&self, subject: &str, request: &Request) -> Result<HttpResponse> {
        let (handle, name) = read(request)?;
        let id = UserId::new(self.ids.next().await?);
        match self.users.sign_up(id, subject, handle, name).await? {
            SignUp::Created(user) => {
                // This token may have had a profile that was deleted a moment ago, and is remembered as deleted.
                if let Err(error) = self.identities.forget(subject).await {
                    tracing::warn!(error = error.chain(), "deleted profile still remembered");
                }
                http::created(&user)
            }
            SignUp::Existing(user) => http::ok(&user),
        }
    }
}

fn read(request: &Request) -> Result<(Handle, DisplayName)> {
    let body: Body = http::body(request)?;
    Ok((
        Handle::parse(&body.handle)?,
        DisplayName::parse(&body.name)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/create-user.json");

    #[test]
    fn the_event_signs_alice_up() {
        let request = test::request(EVENT);
        let (handle, name) = read(&request).expect("a good body");
        assert_eq!(http::subject(&request).expect("a subject"), "alice");
        assert_eq!((handle.as_str(), name.as_str()), ("alice", "Alice"));
    }

    #[test]
    fn a_body_without_a_handle_is_refused_as_invalid() {
        let request = test::with_body(EVENT, r#"{"name": "Alice"}"#);
        assert!(matches!(read(&request), Err(shared::Error::Invalid(_))));
    }
}
