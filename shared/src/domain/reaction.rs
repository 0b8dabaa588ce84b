//! What a reader does with a tweet besides reading it.

use super::TweetId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reaction {
    /// Counted, and shown to everybody as a number.
    Like,
    /// Not interested: the tweet leaves the reader's own home timeline.
    Hide,
}

/// One user's reaction to one tweet, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReactionState {
    pub reaction: Reaction,
    pub tweet: TweetId,
    /// `false` if it was taken back.
    pub stands: bool,
    /// Grows with every change.
    pub version: u64,
}
