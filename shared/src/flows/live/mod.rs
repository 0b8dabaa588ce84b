//! Live updates: from a delivery to a message on somebody's screen.
//!
//! 1. [`listening`] and [`leaving`]: who is connected, and for whose tweets. [`restoring`] makes that anew if Redis lost it.
//! 2. [`announcing`]: a delivery leaves a notice for those of its readers who are connected.
//! 3. [`telling`]: a notice that is due becomes a message. What is new is counted only then.
//!
//! `send-news` hands the message to API Gateway. [`crate::domain::live`] has the rules.

pub mod announcing;
pub mod leaving;
pub mod listening;
pub mod restoring;
pub mod telling;

pub use announcing::{Announcer, FanAnnouncer};
pub use leaving::Leaving;
pub use listening::Listening;
pub use restoring::Restoring;
pub use telling::Teller;
