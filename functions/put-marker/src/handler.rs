use serde::Deserialize;
use shared::domain::{TweetId, UserId};
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::{Markers, Users};
use shared::{Error, Result, Roost};

pub(crate) struct PutMarker {
    users: Users,
    markers: Markers,
}

#[derive(Deserialize)]
struct Body {
    last_read_id: String,
    /// The version that the client has seen; 0 if there is no marker yet.
    version: u64,
}

impl http::Handler for PutMarker {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            markers: Markers::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let (last_read, version) = read(request)?;
        let marker = self.markers.set(me, last_read, version).await?;
        if !self.users.still_exists(me).await? {
            // The account was deleted meanwhile, and its marker perhaps before this one was written.
            self.markers.remove(me).await?;
            return Err(Error::NoProfile);
        }
        http::ok(&marker)
    }
}

fn read(request: &Request) -> Result<(TweetId, u64)> {
    let body: Body = http::body(request)?;
    let last_read = TweetId::parse(&body.last_read_id)
        .map_err(|error| Error::Invalid(format!("last_read_id: {error}")))?;
    Ok((last_read, body.version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/put-marker.json");

    #[test]
    fn the_event_moves_a_marker_that_was_never_set() {
        let (_, version) = read(&test::request(EVENT)).expect("a good body");
        assert_eq!(version, 0);
    }

    #[test]
    fn an_id_that_is_none_is_refused_as_invalid() {
        let request = test::with_body(EVENT, r#"{"last_read_id": "x", "version": 0}"#);
        assert!(matches!(read(&request), Err(Error::Invalid(_))));
    }
}
