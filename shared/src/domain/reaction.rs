//! What a reader does with a tweet besides reading it.

use super::TweetId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reaction {
    /// Counted, and shown to everybody as a number.
    Like,
    /// Counted, and an item of its own in the timelines of the reader's followers.
    Repost,
    /// Not interested: the tweet leaves the reader's own home timeline.
    Hide,
    /// Counted. A reply is a tweet of its own, so nobody has to remember separately who replied to what.
    Reply,
}

impl Reaction {
    /// What a reader either does to a tweet or not, so that it has to be remembered.
    pub const MARKS: [Self; 3] = [Self::Like, Self::Repost, Self::Hide];
    pub const ALL: [Self; 4] = [Self::Like, Self::Repost, Self::Hide, Self::Reply];
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
