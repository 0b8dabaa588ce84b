//! What clients read if a request is refused or fails: a problem (RFC 9457).
//!
//! This is the only place where an error becomes a status. The list below is the one in docs/CLIENTS.md, where each problem
//! has a line that says what to do about it; a test keeps the two the same.

use lambda_http::http::StatusCode;
use serde::Serialize;

use crate::domain::Marker;
use crate::{Error, Mistake};

macro_rules! problems {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $status:ident, $title:literal;)*) => {
        /// Every kind of refusal. Clients know it by its type, which never changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Problem {
            $($(#[$doc])* $variant,)*
        }

        impl Problem {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The end of its type.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            pub const fn status(self) -> StatusCode {
                match self {
                    $(Self::$variant => StatusCode::$status,)*
                }
            }

            /// The same for every problem of a type.
            const fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => $title,)*
                }
            }
        }
    };
}

problems! {
    Malformed, "malformed", BAD_REQUEST, "The request cannot be read";
    UnknownParameter, "unknown-parameter", BAD_REQUEST, "There is no such parameter";
    ForeignCursor, "foreign-cursor", BAD_REQUEST, "The cursor is not of this list";
    Unauthenticated, "unauthenticated", UNAUTHORIZED, "A valid token is needed";
    NoProfile, "no-profile", FORBIDDEN, "The token has no profile";
    Blocked, "blocked", FORBIDDEN, "One of the two has blocked the other";
    NotYours, "not-yours", FORBIDDEN, "It belongs to somebody else";
    UserNotFound, "user-not-found", NOT_FOUND, "There is no such user";
    TweetNotFound, "tweet-not-found", NOT_FOUND, "There is no such tweet";
    HandleTaken, "handle-taken", CONFLICT, "The handle is taken";
    ProfileExists, "profile-exists", CONFLICT, "The token has a profile already";
    SignUpUnderWay, "sign-up-under-way", CONFLICT, "Another sign-up is under way";
    StaleMarker, "stale-marker", CONFLICT, "The marker has moved";
    TweetDeleted, "tweet-deleted", CONFLICT, "The tweet of this key was deleted";
    TooLarge, "too-large", PAYLOAD_TOO_LARGE, "The body is too large";
    Invalid, "invalid", UNPROCESSABLE_ENTITY, "A value is not allowed";
    KeyReused, "key-reused", UNPROCESSABLE_ENTITY, "The key was used with another body";
    Yourself, "yourself", UNPROCESSABLE_ENTITY, "You cannot do that to yourself";
    LimitReached, "limit-reached", UNPROCESSABLE_ENTITY, "You have as many as you may have";
    TooMany, "too-many", TOO_MANY_REQUESTS, "Too many requests";
    Internal, "internal", INTERNAL_SERVER_ERROR, "Something went wrong on our side";
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        match error {
            Error::Malformed(_) | Error::WrongParameters(_) => Self::Malformed,
            Error::UnknownParameters(_) => Self::UnknownParameter,
            Error::ForeignCursor => Self::ForeignCursor,
            Error::Unauthenticated => Self::Unauthenticated,
            Error::NoProfile => Self::NoProfile,
            Error::Blocked(_) => Self::Blocked,
            Error::NotYours => Self::NotYours,
            Error::NoUser(_) | Error::NoHandle => Self::UserNotFound,
            Error::NoTweet(_) => Self::TweetNotFound,
            Error::HandleTaken(_) => Self::HandleTaken,
            Error::ProfileExists(_) => Self::ProfileExists,
            Error::SignUpUnderWay => Self::SignUpUnderWay,
            Error::StaleMarker { .. } => Self::StaleMarker,
            Error::TweetDeleted => Self::TweetDeleted,
            Error::TooLarge(_) => Self::TooLarge,
            Error::Invalid(_) | Error::InvalidFields(_) => Self::Invalid,
            Error::KeyReused => Self::KeyReused,
            Error::Yourself(_) => Self::Yourself,
            Error::LimitReached(_) => Self::LimitReached,
            Error::TooMany => Self::TooMany,
            Error::Config { .. }
            | Error::Dynamo { .. }
            | Error::Kinesis { .. }
            | Error::ApiGateway { .. }
            | Error::Redis(_)
            | Error::RedisDown
            | Error::Unreadable { .. }
            | Error::GaveUp(_)
            | Error::Panicked(_) => Self::Internal,
        }
    }
}

/// A problem as clients read it.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: String,
    /// By which the operator finds the request in the logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    /// Everything that is wrong with the request, by its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Mistake>,
    /// The marker as it is now, if the client knows an older one.
    #[serde(skip_serializing_if = "Option::is_none")]
    marker: Option<Marker>,
}

impl<'a> Body<'a> {
    /// What is ours stays in the log.
    pub(super) fn new(error: &Error, request_id: Option<&'a str>) -> Self {
        let problem = Problem::from(error);
        let detail = match problem {
            Problem::Internal => {
                "Something went wrong on our side. Trying again is safe.".to_owned()
            }
            _ => error.to_string(),
        };
        let (errors, marker) = match error {
            Error::WrongParameters(mistakes)
            | Error::UnknownParameters(mistakes)
            | Error::InvalidFields(mistakes) => (mistakes.clone(), None),
            Error::ForeignCursor => (vec![Mistake::in_query("cursor", detail.clone())], None),
            Error::StaleMarker { now, .. } => (Vec::new(), Some(*now)),
            _ => (Vec::new(), None),
        };
        Self {
            kind: format!("urn:roost:problem:{}", problem.name()),
            title: problem.title(),
            status: problem.status().as_u16(),
            detail,
            request_id,
            errors,
            marker,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::domain::TweetId;

    fn body(error: &Error) -> Value {
        serde_json::to_value(Body::new(error, Some("r-1"))).expect("serializes")
    }

    #[test]
    fn no_two_problems_have_the_same_name() {
        let names: BTreeSet<&str> = Problem::ALL.iter().map(|problem| problem.name()).collect();
        assert_eq!(names.len(), Problem::ALL.len());
    }

    #[test]
    fn a_problem_names_every_mistake_and_the_request() {
        let mistakes = vec![
            Mistake::in_body("/text", "text is missing"),
            Mistake::in_body("/media/0/url", "url must be a string"),
        ];
        let body = body(&Error::InvalidFields(mistakes));
        assert_eq!(body["type"], "urn:roost:problem:invalid");
        assert_eq!(
            (&body["status"], &body["request_id"]),
            (&json!(422), &json!("r-1"))
        );
        let errors = json!([
            { "pointer": "/text", "detail": "text is missing" },
            { "pointer": "/media/0/url", "detail": "url must be a string" },
        ]);
        assert_eq!(body["errors"], errors);
    }

    #[test]
    fn a_stale_marker_comes_with_the_one_that_counts() {
        let now = Marker {
            last_read: TweetId::new(9),
            version: 3,
        };
        let body = body(&Error::StaleMarker { now, seen: 2 });
        assert_eq!(body["marker"], json!({ "last_read_id": "9", "version": 3 }));
    }

    #[test]
    fn what_failed_on_our_side_is_not_told() {
        let body = body(&Error::Panicked("at line 7 of secret.rs".to_owned()));
        assert_eq!(body["type"], "urn:roost:problem:internal");
        assert!(!body.to_string().contains("secret"), "{body}");
    }
}
