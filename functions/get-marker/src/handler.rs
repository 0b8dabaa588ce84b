use lambda_http::Request;
use shared::Result;
use shared::runtime::http::{self, HttpResponse};
use shared::stores::{Identities, Markers};

pub(crate) struct GetMarker {
    pub(crate) markers: Markers,
    pub(crate) identities: Identities,
}

impl GetMarker {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        let me = http::caller(&request, &self.identities).await?;
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
