//! The replies to a tweet.

use std::collections::BTreeSet;

use super::lookup::TweetLookup;
use super::reactions::Targets;
use crate::Result;
use crate::domain::{SeenTweet, TweetId, User, UserId};
use crate::platform::Roost;
use crate::stores::tweets::NEWEST;
use crate::stores::{Reactors, Relations};

pub struct RepliesReader {
    targets: Targets,
    reactors: Reactors,
    relations: Relations,
    lookup: TweetLookup,
}

/// Newest first.
pub struct RepliesPage {
    pub tweets: Vec<SeenTweet>,
    /// Their authors, in the order in which they first appear.
    pub users: Vec<User>,
    /// The next page lies below this id; `None` at the end.
    pub next: Option<TweetId>,
}

impl RepliesReader {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            targets: Targets::new(roost)?,
            reactors: Reactors::new(roost)?,
            relations: Relations::new(roost)?,
            lookup: TweetLookup::new(roost)?,
        })
    }

    /// The newest replies below an id. A page may be shorter than asked for: replies of people on either side of a block
    /// with `me` are left out, and so are those that were deleted a moment ago.
    pub async fn page(
        &self,
        me: UserId,
        tweet: TweetId,
        below: Option<TweetId>,
        size: usize,
    ) -> Result<RepliesPage> {
        let parent = self.targets.find(me, tweet).await?;
        // One more than the page holds tells whether another page follows.
        let mut replies = self
            .reactors
            .replies(parent, below.unwrap_or(NEWEST), size + 1)
            .await?;
        let more = replies.len() > size;
        replies.truncate(size);
        let next = replies.last().filter(|_| more).map(|reply| reply.tweet);
        let authors: BTreeSet<UserId> = replies.iter().map(|reply| reply.author).collect();
        let apart = self.relations.apart(me, &authors).await?;
        replies.retain(|reply| !apart.contains(&reply.author));
        let found = self.lookup.list_entries(me, &replies).await?;
        Ok(RepliesPage {
            tweets: found.tweets,
            users: found.users,
            next,
        })
    }
}
