//! What travels between functions, as JSON: on the Kinesis streams, and as work that is handed over.

use serde::{Deserialize, Serialize};

use super::{Entry, FollowerRange, Tier, TweetId, TweetRef, UserId};

/// On `tweet-created`, one author's events in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TweetEvent {
    TweetCreated {
        tweet_id: TweetId,
        author_id: UserId,
        /// The original, if it is a repost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repost_of: Option<TweetRef>,
    },
    TweetDeleted {
        tweet_id: TweetId,
        author_id: UserId,
    },
}

/// For `fan-out-pages`: deliver this tweet to these followers. Carries all that the delivery needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FanOutPage {
    pub tweet_id: TweetId,
    pub author_id: UserId,
    /// The original, if it is a repost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repost_of: Option<TweetRef>,
    pub followers: FollowerRange,
    /// What the author was when the tweet's delivery began. No later step looks again.
    #[serde(default)]
    pub tier: Tier,
    #[serde(default)]
    pub epoch: u64,
    /// How many hand-overs lie between this page and the tweet's event.
    pub depth: u32,
    /// How many followers were left in all when this range was cut; `None` if that was not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
}

impl FanOutPage {
    pub const fn entry(&self) -> Entry {
        let entry = Entry::new(self.tweet_id, self.author_id);
        match self.repost_of {
            Some(original) => entry.reposting(original),
            None => entry,
        }
    }
}

/// For `fan-out-pages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FanOutWork {
    Deliver(FanOutPage),
    Fans(FanPage),
}

/// An author who is pulled posted: give notice to these fans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FanPage {
    pub fans_of: UserId,
    /// One of the sets that those who are connected are kept in.
    pub set: u8,
}

/// For `apply-tier-changes`: a flip comes on `celebrity-flag-changed`, and what is left of it is handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TierEvent {
    Change(TierChange),
    Outdated(OutdatedCounts),
}

/// Redis did not take what changed of these users, and has to be told once it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutdatedCounts {
    pub outdated: Vec<UserId>,
}

/// An author's tier flipped, and the followers must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierChange {
    pub user_id: UserId,
    /// What the author becomes.
    pub is_celebrity: bool,
    /// Which flip this is.
    pub epoch: u64,
    /// The last follower who has been told; missing at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<UserId>,
}

impl TierChange {
    /// The state that the author is in while followers are being told.
    pub const fn under_way(&self) -> Tier {
        if self.is_celebrity {
            Tier::Promoting
        } else {
            Tier::Demoting
        }
    }
}

/// For `fill-timelines`: the first page of this user's list was rebuilt, and the rest is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineFill {
    pub user_id: UserId,
}
