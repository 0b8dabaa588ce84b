use shared::domain::{DisplayName, Handle, UserId};
use shared::runtime::body::Fields;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::users::SignUp;
use shared::stores::{Identities, Ids, Users};
use shared::{Result, Roost};

pub(crate) struct CreateUser {
    ids: Ids,
    users: Users,
    identities: Identities,
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
                http::created_at(&format!("/v1/users/{}", user.id), &user)
            }
            SignUp::Existing(user) => http::ok(&user),
        }
    }
}

fn read(request: &Request) -> Result<(Handle, DisplayName)> {
    let mut body = Fields::of(request)?;
    let handle = body.text("handle", Handle::parse_new);
    let name = body.text("name", DisplayName::parse);
    body.finish(|| handle.zip(name))
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
        assert!(matches!(
            read(&request),
            Err(shared::Error::InvalidFields(_))
        ));
    }
}
