//! The request that becomes a WebSocket, as RFC 6455 has it.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use hyper::upgrade::OnUpgrade;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

const VERSION: &[u8] = b"13";

pub(super) struct Handshake {
    /// What proves to the client that its request was understood.
    accept: HeaderValue,
    upgrade: OnUpgrade,
}

impl Handshake {
    /// `None` if the request does not ask for a WebSocket.
    pub(super) fn read(request: &mut Request) -> Option<Self> {
        let headers = request.headers();
        let asks = request.method() == Method::GET
            && names(headers, &header::CONNECTION, "upgrade")
            && names(headers, &header::UPGRADE, "websocket")
            && headers.get(header::SEC_WEBSOCKET_VERSION)?.as_bytes() == VERSION;
        let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| asks)?;
        let accept = HeaderValue::try_from(derive_accept_key(key.as_bytes())).ok()?;
        Some(Self {
            accept,
            upgrade: hyper::upgrade::on(request),
        })
    }

    /// The answer, and the socket that there is once it was sent.
    pub(super) fn accept(self) -> (Response, OnUpgrade) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response.headers_mut().extend([
            (header::CONNECTION, HeaderValue::from_static("upgrade")),
            (header::UPGRADE, HeaderValue::from_static("websocket")),
            (header::SEC_WEBSOCKET_ACCEPT, self.accept),
        ]);
        (response, self.upgrade)
    }
}

/// Whether one of the words of a header is this one.
fn names(headers: &HeaderMap, header: &HeaderName, word: &str) -> bool {
    headers
        .get_all(header)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|value| value.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 6455, without one header.
    fn request(without: &str) -> Request {
        let headers = [
            ("host", "localhost"),
            ("upgrade", "websocket"),
            ("connection", "keep-alive, Upgrade"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let mut request = Request::get("/live")
            .body(Body::empty())
            .expect("a request");
        let kept = headers.into_iter().filter(|(name, _)| *name != without);
        request.headers_mut().extend(kept.map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        }));
        request
    }

    #[test]
    fn a_request_for_a_websocket_is_answered_as_the_standard_says() {
        let handshake = Handshake::read(&mut request("")).expect("it asks for one");
        let (response, _) = handshake.accept();
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(
            response.headers()[header::SEC_WEBSOCKET_ACCEPT],
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
    }

    #[test]
    fn a_request_that_lacks_a_part_does_not_ask_for_a_websocket() {
        for part in [
            "upgrade",
            "connection",
            "sec-websocket-version",
            "sec-websocket-key",
        ] {
            assert!(Handshake::read(&mut request(part)).is_none(), "{part}");
        }
    }
}
