use shared::domain::UserId;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::Markers;
use shared::{Result, Roost};

pub(crate) struct GetMarker {
    markers: Markers,
}

impl http::Handler for GetMarker {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            markers: Markers::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, _: &Request) -> Result<HttpResponse> {
        http::ok(&self.markers.get(me).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/get-marker.json");

    #[test]
    fn the_event_is_alices() {
        assert_eq!(
            http::subject(&test::request(EVENT)).expect("a subject"),
            "alice"
        );
    }
}
