//! The one error of this crate.
//!
//! The first group is meant for clients: its text is what they read. The second is meant for the log; a client only
//! learns that something went wrong. [`crate::runtime::problem`] turns a variant into a status.

use std::error::Error as StdError;

use redis::{ErrorKind, ServerErrorKind};
use serde::Serialize;

use crate::domain::{Marker, TweetId, UserId};

pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn StdError + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request cannot be read: JSON or an id is not what it should be.
    #[error("{0}")]
    Malformed(String),
    /// Parameters or headers that cannot be read.
    #[error("{}", told(.0))]
    WrongParameters(Vec<Mistake>),
    #[error("{}", told(.0))]
    UnknownParameters(Vec<Mistake>),
    #[error(
        "a cursor is the next_cursor of the page before, of the same list; begin again without one"
    )]
    ForeignCursor,
    /// The request can be read, but a value is not allowed.
    #[error("{0}")]
    Invalid(String),
    /// Like [`Self::Invalid`], with everything that is wrong with the body.
    #[error("{}", told(.0))]
    InvalidFields(Vec<Mistake>),
    #[error("a valid token is needed")]
    Unauthenticated,
    #[error("this token has no profile yet; create one with POST /v1/users")]
    NoProfile,
    /// One of two people has blocked the other.
    #[error("{0}")]
    Blocked(&'static str),
    #[error("this is somebody else's tweet")]
    NotYours,
    #[error("there is no user {0}")]
    NoUser(UserId),
    #[error("nobody has this handle")]
    NoHandle,
    #[error("there is no tweet {0}")]
    NoTweet(TweetId),
    #[error("the handle @{0} is taken; choose another one")]
    HandleTaken(String),
    #[error("this token already has the profile @{0}; change it with PATCH /v1/users/me")]
    ProfileExists(String),
    #[error("another sign-up for this token or handle is under way; try again")]
    SignUpUnderWay,
    #[error("the marker has version {}, not {seen}; look at it before you move it", .now.version)]
    StaleMarker { now: Marker, seen: u64 },
    #[error("the tweet of this Idempotency-Key was deleted; use a new key to post again")]
    TweetDeleted,
    #[error("{0}")]
    TooLarge(String),
    #[error("this Idempotency-Key was used with another body; use a new key")]
    KeyReused,
    /// What one cannot do to oneself.
    #[error("you cannot {0} yourself")]
    Yourself(&'static str),
    /// One has as many of something as one may have.
    #[error("{0}")]
    LimitReached(String),
    #[error("too many requests; the next one may be made after Retry-After seconds")]
    TooMany,

    #[error("environment variable {name} {problem}")]
    Config { name: &'static str, problem: String },
    #[error("dynamodb {operation} failed")]
    Dynamo {
        operation: &'static str,
        #[source]
        source: Source,
    },
    #[error("kinesis {operation} failed")]
    Kinesis {
        operation: &'static str,
        #[source]
        source: Source,
    },
    #[error("api gateway {operation} failed")]
    ApiGateway {
        operation: &'static str,
        #[source]
        source: Source,
    },
    #[error("redis failed")]
    Redis(#[from] redis::RedisError),
    #[error("redis did not answer a moment ago and was not asked")]
    RedisDown,
    /// Something stored or received does not have the shape that we write.
    #[error("cannot read {what}")]
    Unreadable {
        what: &'static str,
        #[source]
        source: Source,
    },
    /// A bounded number of attempts was used up.
    #[error("gave up on {0}")]
    GaveUp(&'static str),
    #[error("panicked: {0}")]
    Panicked(String),
}

impl Error {
    pub fn unreadable<E: Into<Source>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Unreadable {
            what,
            source: source.into(),
        }
    }

    /// May the same work succeed later? `true` if something around the work failed, as a store that does not answer.
    /// `false` if the work itself cannot be done, as a record that cannot be read.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::RedisDown
            | Self::Dynamo { .. }
            | Self::Kinesis { .. }
            | Self::ApiGateway { .. }
            | Self::GaveUp(_) => true,
            Self::Redis(error) => !matches!(
                error.kind(),
                ErrorKind::Parse
                    | ErrorKind::UnexpectedReturnType
                    | ErrorKind::Client
                    | ErrorKind::Extension
                    | ErrorKind::Server(
                        ServerErrorKind::ResponseError
                            | ServerErrorKind::ExecAbort
                            | ServerErrorKind::CrossSlot
                    )
            ),
            _ => false,
        }
    }

    /// This error and everything that caused it, for one log line.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut next = self.source();
        while let Some(cause) = next {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            next = cause.source();
        }
        text
    }
}

/// One thing that is wrong with a request, and where. The text names the place, too, and can be shown by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mistake {
    #[serde(flatten)]
    pub place: Place,
    pub detail: String,
}

/// Where a mistake is. Clients read `{"pointer": "/text", …}`, `{"parameter": "limit", …}` or `{"header": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In the body: a JSON pointer (RFC 6901).
    Pointer(String),
    /// In the query: the name of a parameter.
    Parameter(String),
    Header(String),
}

impl Mistake {
    pub fn in_body(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            place: Place::Pointer(pointer.into()),
            detail: detail.into(),
        }
    }

    pub fn in_query(parameter: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            place: Place::Parameter(parameter.into()),
            detail: detail.into(),
        }
    }

    pub fn in_header(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            place: Place::Header(name.into()),
            detail: detail.into(),
        }
    }
}

/// What a client reads first. One mistake speaks for itself.
fn told(mistakes: &[Mistake]) -> String {
    match mistakes {
        [only] => only.detail.clone(),
        all => format!("{} things are wrong; errors lists each of them", all.len()),
    }
}
