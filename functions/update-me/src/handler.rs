use serde::{Deserialize, Deserializer};
use shared::domain::{AvatarUrl, Bio, DisplayName, ProfileChange, UserId};
use shared::flows::profiles::Profiles;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::{Error, Result, Roost};

pub(crate) struct UpdateMe {
    profiles: Profiles,
}

/// A field that is not there stays as it is; `null` removes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(default, deserialize_with = "given")]
    name: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    bio: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    avatar_url: Option<Option<String>>,
}

/// Called only for a field that is there.
fn given<'de, D: Deserializer<'de>>(field: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(field).map(Some)
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

fn read(request: &Request) -> Result<ProfileChange> {
    let body: Body = http::body(request)?;
    let name = match body.name {
        None => None,
        Some(Some(name)) => Some(DisplayName::parse(&name)?),
        Some(None) => return Err(Error::Invalid("name cannot be removed".to_owned())),
    };
    let bio = body.bio.map(|bio| Bio::parse(&bio.unwrap_or_default()));
    let avatar_url = body
        .avatar_url
        .map(|url| url.as_deref().map(AvatarUrl::parse).transpose());
    Ok(ProfileChange {
        name,
        bio: bio.transpose()?,
        avatar_url: avatar_url.transpose()?,
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
            assert!(matches!(change, Err(Error::Invalid(_))), "{body}");
        }
    }
}
