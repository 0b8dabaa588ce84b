use shared::domain::{AvatarUrl, Bio, DisplayName, ProfileChange, UserId};
use shared::flows::profiles::Profiles;
use shared::runtime::body::Fields;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::{Error, Result, Roost};

pub(crate) struct UpdateMe {
    profiles: Profiles,
}

impl http::Handler for UpdateMe {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            profiles: Profiles::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let change = read(request)?;
        http::ok(&self.profiles.change(me, &change).await?)
    }
}

/// A field that is not there stays as it is; `null` removes it.
fn read(request: &Request) -> Result<ProfileChange> {
    let mut body = Fields::of(request)?;
    let name = body.change("name", |name| match name {
        Some(name) => DisplayName::parse(name),
        None => Err(Error::Invalid("name cannot be removed".to_owned())),
    });
    let bio = body.change("bio", |bio| Bio::parse(bio.unwrap_or_default()));
    let avatar_url = body.change("avatar_url", |url| url.map(AvatarUrl::parse).transpose());
    body.finish(|| {
        Some(ProfileChange {
            name,
            bio,
            avatar_url,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/update-me.json");

    #[test]
    fn the_event_sets_a_bio_and_removes_the_picture() {
        let change = read(&test::request(EVENT)).expect("a good body");
        assert_eq!(change.name, None);
        let bio = change.bio.flatten().expect("a bio");
        assert_eq!(bio.as_str(), "I post about birds.");
        assert_eq!(change.avatar_url, Some(None));
    }

    #[test]
    fn nothing_asked_is_nothing_changed() {
        let change = read(&test::with_body(EVENT, "{}")).expect("a good body");
        assert!(change.is_empty());
    }

    #[test]
    fn an_empty_bio_is_none() {
        for body in [r#"{"bio": ""}"#, r#"{"bio": null}"#] {
            let change = read(&test::with_body(EVENT, body)).expect("a good body");
            assert_eq!(change.bio, Some(None), "{body}");
        }
    }

    #[test]
    fn what_is_not_a_profile_is_refused_as_invalid() {
        for body in [
            r#"{"name": null}"#,
            r#"{"handle": "other"}"#,
            r#"{"avatar_url": ""}"#,
            r#"{"bio": 5}"#,
        ] {
            let change = read(&test::with_body(EVENT, body));
            assert!(matches!(change, Err(Error::InvalidFields(_))), "{body}");
        }
    }
}
