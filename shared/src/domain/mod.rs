//! The rules of Roost, as pure functions and types.
//!
//! Nothing here names AWS, Redis or a clock: the caller brings the time and the data. Types are made by `parse`,
//! so what exists has been checked.

pub mod activity;
pub mod affinity;
pub mod audit;
pub mod canary;
pub mod clock;
pub mod entity_tag;
pub mod entry;
pub mod event;
pub mod https_url;
pub mod id;
pub mod live;
pub mod marker;
pub mod media;
pub mod page;
pub mod presence;
pub mod range;
pub mod rank;
pub mod reaction;
pub mod relation;
pub mod repeats;
pub mod seal;
mod text;
pub mod ticket;
pub mod tier;
pub mod timeline;
pub mod tweet;
pub mod user;
pub mod walk_cursor;

pub use affinity::{Affinities, AffinityRule, Interaction};
pub use entity_tag::KnownTags;
pub use entry::{Entry, Kind, Origin, TweetRef};
pub use https_url::HttpsUrl;
pub use id::{IdMaker, Lane, TweetId, UserId};
pub use marker::Marker;
pub use media::{Alt, Medium, MediumKind};
pub use page::{Cursor, FollowedPlace, FollowerPlace, IdList, PageSize, PeopleCursor};
pub use range::FollowerRange;
pub use reaction::{Reaction, ReactionState};
pub use relation::Relation;
pub use ticket::Ticket;
pub use tier::Tier;
pub use tweet::{ListedTweet, ReactionCounts, RepostedBy, SeenTweet, Tweet, TweetText};
pub use user::{
    AvatarUrl, Bio, DisplayName, Handle, HandlePrefix, ProfileChange, Relationship, User,
};
pub use walk_cursor::{CursorOf, WalkCursor};
