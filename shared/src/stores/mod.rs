//! What Roost keeps, and where: one struct per thing.
//!
//! - DynamoDB holds the truth: [`users`], [`ids`], [`follows`], [`followers`], [`following`], [`tweets`],
//!   [`reactions`], [`reaction_counters`], [`reactors`], [`idempotency`], [`counts`], [`tiers`], [`drifts`], [`positions`], [`erasures`], [`tickets`], [`connections`],
//!   [`notices`].
//! - Redis holds what can be computed from it again: [`timelines`], [`hidden`], [`celebs`], [`feeds`], [`cards`],
//!   [`tweet_stats`], [`user_counts`], [`reacted`], [`receipts`], [`rate_limits`], [`listeners`], [`canaries`]. All keys are in `keys.rs`.
//! - Both: [`identities`], [`markers`], [`presence`].
//! - Kinesis carries events: [`events`]. API Gateway carries messages to clients: [`sockets`].

pub mod affinity;
pub mod canaries;
pub mod cards;
pub mod celebs;
pub mod connections;
pub mod counts;
pub mod deeds;
pub mod drifts;
mod edge_view;
pub mod erasures;
pub mod events;
pub mod excluded;
pub mod feeds;
mod fill_token;
pub mod followers;
pub mod following;
pub mod follows;
pub mod handovers;
pub mod hidden;
pub mod idempotency;
pub mod identities;
pub mod ids;
pub mod listeners;
pub mod markers;
pub mod notices;
pub mod positions;
pub mod presence;
pub mod rate_limits;
pub mod reacted;
pub mod reaction_counters;
pub mod reactions;
pub mod reactors;
pub mod receipts;
pub mod relations;
pub mod sockets;
pub mod tickets;
pub mod tiers;
pub mod timelines;
pub mod tweet_stats;
pub mod tweets;
pub mod user_counts;
pub mod users;

mod dynamo;
mod keys;

pub use affinity::AffinityCache;
pub use canaries::Canaries;
pub use cards::Cards;
pub use celebs::Celebs;
pub use connections::Connections;
pub use counts::Counts;
pub use deeds::Deeds;
pub use drifts::Drifts;
pub use edge_view::IdPage;
pub use erasures::Erasures;
pub use events::EventStream;
pub use excluded::Excluded;
pub use feeds::Feeds;
pub use fill_token::FillToken;
pub use followers::Followers;
pub use following::Following;
pub use follows::Follows;
pub use handovers::HandOvers;
pub use hidden::Hidden;
pub use idempotency::IdempotencyKeys;
pub use identities::Identities;
pub use ids::Ids;
pub use listeners::Listeners;
pub use markers::Markers;
pub use notices::Notices;
pub use positions::Positions;
pub use presence::Presence;
pub use rate_limits::RateLimits;
pub use reacted::Reacted;
pub use reaction_counters::ReactionCounters;
pub use reactions::Reactions;
pub use reactors::Reactors;
pub use receipts::Receipts;
pub use relations::Relations;
pub use sockets::Sockets;
pub use tickets::Tickets;
pub use tiers::Tiers;
pub use timelines::Timelines;
pub use tweet_stats::TweetStats;
pub use tweets::Tweets;
pub use user_counts::UserCounts;
pub use users::Users;
