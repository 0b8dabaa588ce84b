//! What Roost keeps, and where.
//!
//! DynamoDB holds the truth: [`users`], [`follows`], [`tweets`], [`counts`]. Redis holds what can be computed from it
//! again: [`timelines`], [`cards`], [`identities`]. Kinesis carries events: [`events`].

pub mod cards;
pub mod counts;
pub mod events;
pub mod follows;
pub mod identities;
pub mod redis;
pub mod timelines;
pub mod tweets;
pub mod users;

mod dynamo;
mod keys;

pub use cards::Cards;
pub use counts::Counts;
pub use events::EventStream;
pub use follows::Follows;
pub use identities::Identities;
pub use redis::Redis;
pub use timelines::Timelines;
pub use tweets::Tweets;
pub use users::Users;
