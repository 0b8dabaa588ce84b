//! What Roost's functions have in common.
//!
//! - [`domain`] decides. It is pure: ids, timeline entries, pages and the merge name no AWS, no Redis and no clock.
//! - [`stores`] carries out: one struct per thing that is kept in DynamoDB, Redis or Kinesis.
//! - [`flows`] ties the two together where more than one function needs the same steps: the fan-out, the
//!   reading of a home timeline, and what a follow or unfollow means for the cache.
//! - [`runtime`] is what surrounds a handler: configuration, HTTP, stream batches, logs.
//!
//! A function's `main.rs` builds the stores it needs; its `handler.rs` calls them.

pub mod domain;
mod error;
pub mod flows;
pub mod runtime;
pub mod stores;

pub use error::{Error, Result};
