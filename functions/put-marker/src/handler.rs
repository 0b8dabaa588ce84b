use shared::domain::{TweetId, UserId};
use shared::runtime::body::Fields;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::{Markers, Users};
use shared::{Error, Result, Roost};

pub(crate) struct PutMarker {
    users: Users,
    markers: Markers,
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

/// How far the client has read, and the version of the marker that it has seen; 0 if there is no marker yet.
fn read(request: &Request) -> Result<(TweetId, u64)> {
    let mut body = Fields::of(request)?;
    let last_read = body.text("last_read_id", TweetId::parse);
    let version = body.number("version");
    body.finish(|| last_read.zip(version))
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
        assert!(matches!(read(&request), Err(Error::InvalidFields(_))));
    }
}
