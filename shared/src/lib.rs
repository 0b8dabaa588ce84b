//! What Roost's functions have in common, in layers. Each names only those above it in this list:
//!
//! - [`domain`] decides. It is pure: ids, timeline entries, pages, tiers and the merge name no AWS, no Redis and no
//!   clock.
//! - [`platform`] is what Roost runs on: configuration, AWS clients, Redis, clock, logs, metrics. Its [`Roost`] is the
//!   one value that every function starts with.
//! - [`stores`] carries out: one struct per thing that is kept in DynamoDB, Redis or Kinesis.
//! - [`flows`] has steps that several functions share: the fan-out, the reading of a home timeline, tiers, erasure.
//! - [`runtime`] is what surrounds a handler: HTTP, stream batches, schedules.
//!
//! A function is a handler with two methods: `new(&roost)` makes the stores and flows that it needs, and `handle` uses
//! them. Its `main.rs` says which of [`runtime`]'s kinds it is.

pub mod domain;
mod error;
pub mod flows;
pub mod platform;
pub mod runtime;
pub mod stores;

pub use error::{Error, Mistake, Place, Result};
pub use platform::Roost;

/// A page and a fan-out are thousands of small allocations: about a tenth less work than with the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
