//! What surrounds a handler. A function is of one of four kinds, and its `main` is one call:
//!
//! - [`http::serve`] for an endpoint ([`http::serve_subject`] for one that callers need no profile for),
//! - [`batch::serve`] for a consumer of a stream,
//! - [`schedule::serve`] for a job that runs from time to time,
//! - [`socket::serve`] for what happens on a WebSocket ([`socket::serve_authorizer`] to decide if one may be opened).

pub mod batch;
pub mod body;
pub mod http;
pub mod people;
pub mod problem;
pub mod schedule;
pub mod socket;

mod guard;
mod query;

/// How a function's `main` ends: never, unless it cannot start.
pub type Exit = Result<(), lambda_runtime::Error>;
