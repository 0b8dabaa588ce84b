//! Hiding a deleted account, and removing what it has left, a piece at a time.
//!
//! Every piece is the first of what is left, so nothing has to be remembered between them, and one that is repeated
//! finds less to do. Others see nothing of the account meanwhile: readers drop tweets whose author has no profile.

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::Result;
use crate::domain::{Entry, Relation, TweetId, UserId};
use crate::platform::{Roost, now_millis};
use crate::stores::follows::Edge;
use crate::stores::tweets::Remains;
use crate::stores::{
    Cards, Celebs, Connections, Drifts, Excluded, Followers, Following, Follows, IdempotencyKeys,
    Identities, Listeners, Markers, Notices, Presence, Reactions, Relations, Timelines, Tweets,
};

/// Tweets or edges that are removed in one piece.
const PIECE: usize = 500;

/// Relations that are removed in one piece. Each is a transaction of its own.
const RELATIONS: usize = 100;

/// Such transactions under way at once.
const CONCURRENCY: usize = 16;

/// Makes a deleted account invisible in Redis, too.
pub struct Hider {
    identities: Identities,
    cards: Cards,
}

impl Hider {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            identities: Identities::new(roost)?,
            cards: Cards::new(roost)?,
        })
    }

    pub async fn hide(&self, user: UserId, sub: &str) -> Result<()> {
        self.identities.bury(sub, user).await?;
        self.cards.bury_user(user).await
    }
}

/// Removes what is left of an account.
pub struct Eraser {
    tweets: Tweets,
    idempotency_keys: IdempotencyKeys,
    follows: Follows,
    followers: Followers,
    following: Following,
    relations: Relations,
    excluded: Excluded,
    drifts: Drifts,
    markers: Markers,
    presence: Presence,
    timelines: Timelines,
    celebs: Celebs,
    cards: Cards,
    reactions: Reactions,
    connections: Connections,
    notices: Notices,
    listeners: Listeners,
}

impl Eraser {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            tweets: Tweets::new(roost)?,
            idempotency_keys: IdempotencyKeys::new(roost)?,
            follows: Follows::new(roost)?,
            followers: Followers::new(roost)?,
            following: Following::new(roost)?,
            relations: Relations::new(roost)?,
            excluded: Excluded::new(roost)?,
            drifts: Drifts::new(roost)?,
            markers: Markers::new(roost)?,
            presence: Presence::new(roost)?,
            timelines: Timelines::new(roost)?,
            celebs: Celebs::new(roost)?,
            cards: Cards::new(roost)?,
            reactions: Reactions::new(roost)?,
            connections: Connections::new(roost)?,
            notices: Notices::new(roost)?,
            listeners: Listeners::new(roost)?,
        })
    }

    /// Removes the next piece. `false` if nothing was left to remove.
    pub async fn next_piece(&self, user: UserId) -> Result<bool> {
        Ok(self.some_tweets(user).await?
            || self.some_followers(user).await?
            || self.some_following(user).await?
            || self.some_relations(user).await?
            // The stream of reactions takes them out of the counts.
            || self.reactions.erase_some(user, PIECE).await?)
    }

    /// What is left when everything else has gone.
    pub async fn last_piece(&self, user: UserId) -> Result<()> {
        self.drifts.forget(user).await?;
        self.relations.forget_counts(user).await?;
        self.markers.remove(user).await?;
        self.presence.erase(user, now_millis()).await?;
        self.disconnect(user).await?;
        self.cards.bury_user(user).await
    }

    /// Ends the user's connections for live updates, and forgets them.
    pub async fn disconnect(&self, user: UserId) -> Result<()> {
        self.connections.erase(user).await?;
        self.notices.remove(user).await?;
        self.listeners.remove(user).await
    }

    async fn some_tweets(&self, author: UserId) -> Result<bool> {
        let tweets = self.tweets.remains(author, PIECE).await?;
        let entries: Vec<Entry> = tweets.iter().map(Remains::entry).collect();
        let ids: Vec<TweetId> = entries.iter().map(|entry| entry.tweet).collect();
        // The table last: what has left it is not found again.
        self.cards.bury_briefly(&entries).await?;
        self.cards.forget_beside(&ids).await?;
        self.idempotency_keys.erase(&tweets).await?;
        self.tweets.erase(&tweets).await?;
        Ok(!tweets.is_empty())
    }

    async fn some_followers(&self, author: UserId) -> Result<bool> {
        let followers = self.followers.page(author, None, PIECE).await?.ids;
        self.celebs.remove(&followers, author).await?;
        self.timelines
            .remove_author_from(&followers, author)
            .await?;
        let edges = followers
            .iter()
            .map(|follower| Edge::new(*follower, author));
        self.follows.erase(&edges.collect::<Vec<_>>()).await?;
        Ok(!followers.is_empty())
    }

    async fn some_following(&self, follower: UserId) -> Result<bool> {
        let following = self.following.page(follower, None, PIECE).await?;
        let edges = following
            .ids
            .iter()
            .map(|followee| Edge::new(follower, *followee));
        self.follows.erase(&edges.collect::<Vec<_>>()).await?;
        Ok(!following.ids.is_empty())
    }

    /// What the user has decided about others, and others about the user.
    async fn some_relations(&self, user: UserId) -> Result<bool> {
        let mut found = false;
        for relation in Relation::ALL {
            let (others, owners) = tokio::try_join!(
                self.relations.some_others(relation, user, RELATIONS),
                self.relations.some_owners(relation, user, RELATIONS)
            )?;
            let made = others.into_iter().map(|other| (user, other));
            let suffered = owners.into_iter().map(|owner| (owner, user));
            let pairs: Vec<_> = made.chain(suffered).collect();
            found |= !pairs.is_empty();
            // What is cached for the others may name the user.
            let readers = pairs
                .iter()
                .flat_map(|(owner, other)| relation.readers(*owner, *other));
            let readers: Vec<UserId> = readers.filter(|reader| *reader != user).collect();
            let change = self.excluded.begin_change(&readers).await?;
            let removals = pairs
                .into_iter()
                .map(|(owner, other)| self.relations.remove(relation, owner, other));
            let removals: Vec<_> = removals.collect();
            let removed: Result<Vec<bool>> = stream::iter(removals)
                .buffer_unordered(CONCURRENCY)
                .try_collect()
                .await;
            self.excluded.end_change(change).await?;
            removed?;
        }
        Ok(found)
    }
}
