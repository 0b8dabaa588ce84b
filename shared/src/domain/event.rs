//! What travels on the Kinesis streams, as JSON.

use serde::{Deserialize, Serialize};

use super::{Entry, FollowerRange, TweetId, UserId};

/// On `tweet-created`, one author's events in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TweetEvent {
    TweetCreated {
        tweet_id: TweetId,
        author_id: UserId,
    },
    TweetDeleted {
        tweet_id: TweetId,
        author_id: UserId,
    },
}

/// On `fan-out-pages`: deliver this tweet to these followers. Carries all that the delivery needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FanOutPage {
    pub tweet_id: TweetId,
    pub author_id: UserId,
    pub followers: FollowerRange,
    /// How many hand-overs lie between this page and the tweet's event.
    pub depth: u32,
}

impl FanOutPage {
    pub const fn entry(&self) -> Entry {
        Entry::new(self.tweet_id, self.author_id)
    }
}
