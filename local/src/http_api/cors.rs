//! What web pages of other origins may do: API Gateway's CORS, as the template sets it.
//!
//! Here it is good for every path, also for those that are not on AWS, so that a page can ask for a token.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Ready;
use crate::template::Cors;

/// The origins that may call if `CorsOrigins` is not set: every page that is served on this machine, at any port.
pub(crate) const LOCAL_ORIGINS: &str = "http://localhost:*,http://127.0.0.1:*";

/// What an origin ends with if its port does not matter. API Gateway does not know this.
const ANY_PORT: &str = ":*";

pub(super) async fn cors(State(ready): State<Ready>, request: Request, next: Next) -> Response {
    let cors = ready.get().and_then(|gateway| gateway.cors.as_ref());
    let origin = request.headers().get(header::ORIGIN).cloned();
    let (Some(cors), Some(origin)) = (cors, origin) else {
        return next.run(request).await;
    };
    let is_preflight = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if is_preflight {
        StatusCode::NO_CONTENT.into_response()
    } else {
        next.run(request).await
    };
    allow(cors, &origin, response.headers_mut(), is_preflight);
    response
}

fn allow(cors: &Cors, origin: &HeaderValue, headers: &mut HeaderMap, is_preflight: bool) {
    let Some(origin) = origin.to_str().ok().filter(|origin| {
        let mut known = cors.origins.iter();
        known.any(|known| fits(known, origin))
    }) else {
        return;
    };
    let mut set = |name: HeaderName, values: &[String]| {
        if let Ok(value) = HeaderValue::try_from(values.join(","))
            && !values.is_empty()
        {
            headers.insert(name, value);
        }
    };
    let any = cors.origins.iter().any(|known| known == "*") && !cors.credentials;
    let shown = if any { "*" } else { origin };
    set(header::ACCESS_CONTROL_ALLOW_ORIGIN, &[shown.to_owned()]);
    if cors.credentials {
        set(
            header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
            &["true".to_owned()],
        );
    }
    if is_preflight {
        set(header::ACCESS_CONTROL_ALLOW_METHODS, &cors.methods);
        set(header::ACCESS_CONTROL_ALLOW_HEADERS, &cors.headers);
        let max_age = cors.max_age_seconds.iter().map(u64::to_string);
        let max_age: Vec<String> = max_age.collect();
        set(header::ACCESS_CONTROL_MAX_AGE, &max_age);
    } else {
        set(header::ACCESS_CONTROL_EXPOSE_HEADERS, &cors.exposed_headers);
    }
}

/// Is this a page that is served on this machine?
pub(super) fn is_local(origin: &str) -> bool {
    LOCAL_ORIGINS.split(',').any(|known| fits(known, origin))
}

fn fits(known: &str, origin: &str) -> bool {
    match known.strip_suffix(ANY_PORT) {
        None => known == "*" || known == origin,
        Some(host) => origin.strip_prefix(host).is_some_and(|rest| {
            let port = rest.strip_prefix(':');
            rest.is_empty() || port.is_some_and(|port| port.parse::<u16>().is_ok())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_this_machine_may_call_and_no_other() {
        for origin in [
            "http://localhost",
            "http://localhost:5173",
            "http://127.0.0.1:3000",
        ] {
            assert!(is_local(origin), "{origin}");
        }
        for origin in [
            "null",
            "https://roost.example",
            "http://localhost.evil.example",
            "http://localhost:5173.evil.example",
            "http://localhost:",
            "http://localhost:*",
            "http://evil.example:5173",
        ] {
            assert!(!is_local(origin), "{origin}");
        }
    }

    #[test]
    fn what_the_template_names_fits_as_it_stands() {
        assert!(fits("https://roost.example", "https://roost.example"));
        assert!(!fits("https://roost.example", "https://roost.example:8443"));
        assert!(fits("*", "https://anything.example"));
    }
}
