//! The one error of this crate.
//!
//! The first group is meant for clients: its text is what they read. The second is meant for the log; a client only
//! learns that something went wrong. [`crate::runtime::http`] turns a variant into a status.

use std::error::Error as StdError;

use redis::{ErrorKind, ServerErrorKind};

pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn StdError + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request cannot be read: JSON, an id, a cursor or a limit is not what it should be.
    #[error("{0}")]
    Malformed(String),
    /// The request can be read, but a field's value is not allowed.
    #[error("{0}")]
    Invalid(String),
    #[error("a valid token is needed")]
    Unauthenticated,
    #[error("this token has no profile yet; create one with POST /v1/users")]
    NoProfile,
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    TooLarge(String),
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
