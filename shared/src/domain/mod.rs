//! The rules of Roost, as pure functions and types.
//!
//! Nothing here names AWS, Redis or a clock: the caller brings the time and the data. Types are made by `parse`,
//! so what exists has been checked.

pub mod audit;
pub mod canary;
pub mod clock;
pub mod entry;
pub mod event;
pub mod id;
pub mod page;
pub mod range;
pub mod relation;
pub mod tier;
pub mod timeline;
pub mod tweet;
pub mod user;

pub use entry::{Entry, Origin};
pub use id::{IdMaker, Lane, TweetId, UserId};
pub use page::{Cursor, PageSize};
pub use range::FollowerRange;
pub use relation::Relation;
pub use tier::Tier;
pub use tweet::{Tweet, TweetText};
pub use user::{DisplayName, Handle, User};
