//! Reposting a tweet, and taking that back.

use std::time::Duration;

use tokio::time::sleep;

use super::reactions::{Targets, show};
use crate::domain::{Entry, TweetId, UserId};
use crate::platform::{Roost, now_millis};
use crate::stores::reactions::Reposted;
use crate::stores::{Cards, Ids, Reacted, Reactions, Timelines, Tweets, Users};
use crate::{Error, Result};

/// How many ids are tried before giving up.
const ATTEMPTS: usize = 5;

/// Clocks differ by a tenth of a second, and this is all that a repost waits for one of them.
const MOST_BEHIND: Duration = Duration::from_millis(500);

pub struct Reposting {
    targets: Targets,
    ids: Ids,
    users: Users,
    timelines: Timelines,
    unreposting: Unreposting,
}

impl Reposting {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            targets: Targets::new(roost)?,
            ids: Ids::new(roost)?,
            users: Users::new(roost)?,
            timelines: Timelines::new(roost)?,
            unreposting: Unreposting::new(roost)?,
        })
    }

    /// From now on the tweet is on its way to the followers of `me`, and in their own timeline.
    pub async fn repost(&self, me: UserId, tweet: TweetId) -> Result<()> {
        let original = self.targets.find(me, tweet).await?;
        let reposted = self.store(me, original).await?;
        self.show_to_author(reposted.repost).await;
        show(&self.unreposting.reacted, me, Some(reposted.state)).await?;
        if !self.users.still_exists(me).await? {
            // The account was deleted meanwhile, and its reposts perhaps before this one was stored.
            self.unreposting.take_back(me, original.tweet).await?;
            return Err(Error::NoProfile);
        }
        tracing::info!(tweet_id = %original.tweet, repost_id = %reposted.repost.tweet, "tweet reposted");
        Ok(())
    }

    async fn store(&self, me: UserId, original: Entry) -> Result<Reposted> {
        let Unreposting {
            tweets, reactions, ..
        } = &self.unreposting;
        for _ in 0..ATTEMPTS {
            let id = TweetId::new(self.ids.next().await?);
            if id <= original.tweet {
                // Another sandbox's clock is a little ahead. A repost must be newer than what it shows.
                let behind = original.tweet.millis().saturating_sub(id.millis());
                sleep(Duration::from_millis(behind + 1).min(MOST_BEHIND)).await;
                continue;
            }
            let repost = Entry::new(id, me).reposting(original.reference());
            if let Some(reposted) = reactions.repost(tweets, repost, original).await? {
                return Ok(reposted);
            }
        }
        Err(Error::GaveUp("storing a repost"))
    }

    /// Read your writes. The repost is stored, so a cache that fails here must not fail the request: the fan-out
    /// delivers to the author as well.
    async fn show_to_author(&self, repost: Entry) {
        let (reposts, readers) = ([repost], [repost.author]);
        let shown = tokio::try_join!(
            self.timelines.deliver(repost, &readers, now_millis()),
            self.unreposting.cards.fill_reposts(&reposts),
        );
        if let Err(error) = shown {
            tracing::warn!(error = error.chain(), "own timeline not updated");
        }
    }
}

pub struct Unreposting {
    tweets: Tweets,
    reactions: Reactions,
    reacted: Reacted,
    cards: Cards,
}

impl Unreposting {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            tweets: Tweets::new(roost)?,
            reactions: Reactions::new(roost)?,
            reacted: Reacted::new(roost)?,
            cards: Cards::new(roost)?,
        })
    }

    /// From now on no reader is shown the repost. Does nothing if there is none, whatever the id.
    pub async fn take_back(&self, me: UserId, tweet: TweetId) -> Result<()> {
        let ended = self.reactions.end_repost(&self.tweets, me, tweet).await?;
        let Some(ended) = ended else {
            return Ok(());
        };
        // Also if an earlier attempt has taken it back: it may have failed right after that.
        self.cards.bury(ended.repost).await?;
        show(&self.reacted, me, Some(ended.state)).await
    }
}
