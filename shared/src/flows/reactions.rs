//! Reacting to tweets, and what a reader has reacted to.

use std::collections::BTreeSet;

use futures_util::future::try_join_all;

use crate::domain::{Entry, Reaction, ReactionState, SeenTweet, Tweet, TweetId, UserId};
use crate::platform::Roost;
use crate::stores::cards::Authorship;
use crate::stores::reacted::{self, Known, Marks};
use crate::stores::tweets::Post;
use crate::stores::{Cards, Reacted, Reactions, Relations, Tweets, Users};
use crate::{Error, Result};

/// Finds the tweet that somebody wants to react to.
pub struct Targets {
    tweets: Tweets,
    cards: Cards,
    relations: Relations,
}

impl Targets {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            tweets: Tweets::new(roost)?,
            cards: Cards::new(roost)?,
            relations: Relations::new(roost)?,
        })
    }

    /// The tweet, unless there is none or its author has blocked `me`. The id of a repost leads to its original.
    pub async fn find(&self, me: UserId, tweet: TweetId) -> Result<Entry> {
        let found = self.place(me, tweet).await?;
        let entry = found.ok_or(Error::NoTweet(tweet))?;
        self.relations.refuse_blocked(entry.author, me).await?;
        Ok(entry)
    }

    /// Mostly the cache knows.
    async fn place(&self, me: UserId, tweet: TweetId) -> Result<Option<Entry>> {
        let cached = self.cards.author_of(tweet).await;
        if let Ok(Authorship::Known(entry)) = cached {
            return Ok(Some(entry));
        }
        let places = self.tweets.places_of(tweet, me).await?;
        let posts = self.tweets.posts(&places).await?;
        match posts.into_iter().next() {
            Some(Post::Repost(repost)) => {
                let original = repost.shown();
                Ok(self.tweets.find(original).await?.map(|_| original))
            }
            found => Ok(found.map(|post| post.entry())),
        }
    }
}

/// Makes reactions.
pub struct Reacting {
    targets: Targets,
    users: Users,
    reactions: Reactions,
    reacted: Reacted,
}

impl Reacting {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            targets: Targets::new(roost)?,
            users: Users::new(roost)?,
            reactions: Reactions::new(roost)?,
            reacted: Reacted::new(roost)?,
        })
    }

    /// Makes it stand, for every page that is read from now on.
    pub async fn react(&self, me: UserId, reaction: Reaction, tweet: TweetId) -> Result<()> {
        let entry = self.targets.find(me, tweet).await?;
        let state = self.reactions.put(me, reaction, entry).await?;
        show(&self.reacted, me, state).await?;
        if !self.users.still_exists(me).await? {
            // The account was deleted meanwhile, and its reactions perhaps before this one was stored.
            self.reactions.remove(me, reaction, entry.tweet).await?;
            return Err(Error::NoProfile);
        }
        Ok(())
    }
}

/// Takes reactions back.
pub struct Retracting {
    reactions: Reactions,
    reacted: Reacted,
}

impl Retracting {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            reactions: Reactions::new(roost)?,
            reacted: Reacted::new(roost)?,
        })
    }

    /// Does nothing if there is nothing to take back, whatever the id.
    pub async fn take_back(&self, me: UserId, reaction: Reaction, tweet: TweetId) -> Result<()> {
        let state = self.reactions.remove(me, reaction, tweet).await?;
        show(&self.reacted, me, state).await
    }
}

/// Tells the cache. If this fails, so does the request: a page would show what is not so. The client may ask again.
pub(super) async fn show(
    reacted: &Reacted,
    me: UserId,
    state: Option<ReactionState>,
) -> Result<()> {
    match state {
        Some(state) => reacted.note(me, state).await,
        None => Ok(()),
    }
}

/// What a reader has reacted to.
pub struct MyReactions {
    reacted: Reacted,
    reactions: Reactions,
}

impl MyReactions {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            reacted: Reacted::new(roost)?,
            reactions: Reactions::new(roost)?,
        })
    }

    /// What the reader thinks of these tweets: one round trip to Redis, or the table if Redis does not know.
    pub async fn to_tweets(&self, me: UserId, tweets: &[TweetId]) -> Result<Marks> {
        if tweets.is_empty() {
            return Ok(Marks::default());
        }
        let (mut marks, unknown) = match self.reacted.to_tweets(me, tweets).await {
            Ok(Known::Marks { marks, unknown }) => (marks, unknown),
            Ok(Known::Nothing) => {
                // Boxed, because it is rarely needed and would make the future of every read larger.
                Box::pin(self.fill(me)).await;
                (Marks::default(), tweets.to_vec())
            }
            Err(error) => {
                tracing::warn!(error = error.chain(), "reactions read from the table");
                (Marks::default(), tweets.to_vec())
            }
        };
        if !unknown.is_empty() {
            let states = Box::pin(self.reactions.to_tweets(me, &unknown)).await?;
            states.into_iter().for_each(|state| marks.note(state));
        }
        Ok(marks)
    }

    /// What the reader thinks of the tweets that are shown at these places.
    pub async fn to_entries(&self, me: UserId, places: &[Entry]) -> Result<Marks> {
        let ids: BTreeSet<TweetId> = places.iter().map(|place| place.shown().tweet).collect();
        let ids: Vec<TweetId> = ids.into_iter().collect();
        self.to_tweets(me, &ids).await
    }

    /// The tweets as this reader sees them.
    pub async fn see(&self, me: UserId, tweets: Vec<Tweet>) -> Result<Vec<SeenTweet>> {
        let ids: Vec<TweetId> = tweets.iter().map(|tweet| tweet.id).collect();
        let marks = self.to_tweets(me, &ids).await?;
        let seen = tweets.into_iter().map(|tweet| marks.see(tweet));
        Ok(seen.collect())
    }

    /// Fills the cache for the next reader. This one does not depend on it.
    async fn fill(&self, me: UserId) {
        if let Err(error) = self.try_fill(me).await {
            tracing::warn!(error = error.chain(), "reactions not cached");
        }
    }

    async fn try_fill(&self, me: UserId) -> Result<()> {
        let token = self.reacted.begin_fill(me).await?;
        let newest = Reaction::MARKS.map(|kind| self.reactions.newest(me, kind, reacted::MOST));
        let newest = try_join_all(newest).await?;
        self.reacted.finish_fill(me, token, &newest.concat()).await
    }
}
