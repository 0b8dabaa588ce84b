//! What Roost keeps, and where.
//!
//! DynamoDB holds the truth: [`users`], [`follows`], [`tweets`], [`counts`], [`tiers`], [`erasures`]. Redis holds what can be computed from it
//! again: [`timelines`], [`celebs`], [`feeds`],
//! [`cards`], [`identities`], [`rate_limits`]. Kinesis carries events: [`events`].

pub mod cards;
pub mod celebs;
pub mod counts;
pub mod drifts;
pub mod erasures;
pub mod events;
pub mod feeds;
pub mod follows;
pub mod identities;
pub mod markers;
pub mod rate_limits;
pub mod receipts;
pub mod redis;
pub mod tiers;
pub mod timelines;
pub mod tweets;
pub mod users;

mod breaker;
mod dynamo;
mod keys;

pub use cards::Cards;
pub use celebs::Celebs;
pub use counts::Counts;
pub use drifts::Drifts;
pub use erasures::Erasures;
pub use events::EventStream;
pub use feeds::Feeds;
pub use follows::Follows;
pub use identities::Identities;
pub use markers::Markers;
pub use rate_limits::RateLimits;
pub use receipts::Receipts;
pub use redis::Redis;
pub use tiers::Tiers;
pub use timelines::Timelines;
pub use tweets::Tweets;
pub use users::Users;
