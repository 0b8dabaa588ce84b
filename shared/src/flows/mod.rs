//! Steps that more than one function takes.

pub mod affinity;
pub mod audit;
pub mod cache_watch;
pub mod counting;
pub mod deeds;
pub mod edges;
pub mod erase;
pub mod exclusions;
pub mod fan_out;
pub mod feeds;
pub mod home_timeline;
pub mod lookup;
pub mod oracle;
pub mod presence;
pub mod profiles;
pub mod reactions;
pub mod rebuild;
pub mod reconciliation;
pub mod relating;
pub mod relationships;
pub mod replies;
pub mod reposts;
pub mod strangers;
pub mod table_merge;
pub mod tiers;
pub mod warming;
