use shared::domain::{Entry, Reaction, TweetId};
use shared::flows::counting::{ReactionCounting, erase_reposts};
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::reactions::{Change, ReactionKey};
use shared::stores::reactors::Reactor;
use shared::stores::tweets::{Post, TweetKey};
use shared::stores::{Cards, Reactions, Reactors, Tweets};
use shared::{Result, Roost};

/// Reactions that are removed at once.
const PIECE: usize = 500;

pub(crate) struct SettleReactions {
    reactions: Reactions,
    reactors: Reactors,
    tweets: Tweets,
    cards: Cards,
    counting: ReactionCounting,
}

impl Consumer for SettleReactions {
    type Record = TableRecord;
    const CHUNK: usize = 100;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            reactions: Reactions::new(roost)?,
            reactors: Reactors::new(roost)?,
            tweets: Tweets::new(roost)?,
            cards: Cards::new(roost)?,
            counting: ReactionCounting::new(roost)?,
        })
    }

    /// Records hold keys only. What a new tweet replies to, the table says. A tweet that is gone by then was deleted: a later
    /// record says so, and finds nothing that was written for it.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let (posted, deleted) = read(records)?;
        self.settle_posted(&posted).await?;
        self.settle_deleted(&deleted).await
    }
}

impl SettleReactions {
    /// Lists and counts replies.
    async fn settle_posted(&self, posted: &[Entry]) -> Result<()> {
        let posts = self.tweets.posts(posted).await?;
        let replies: Vec<Change> = posts.iter().filter_map(reply).collect();
        if replies.is_empty() {
            return Ok(());
        }
        // First the way back: whoever deletes the reply must find what to take back.
        self.reactors.note_parents(&replies).await?;
        let tweets = self.counting.count(&replies).await?;
        tracing::info!(replies = replies.len(), tweets, "replies counted");
        Ok(())
    }

    /// Takes deleted replies out of their list and count, and removes the reactions to deleted tweets.
    async fn settle_deleted(&self, deleted: &[Entry]) -> Result<()> {
        let ids: Vec<TweetId> = deleted.iter().map(|entry| entry.tweet).collect();
        let replies = self.reactors.ended_replies(&ids).await?;
        if !replies.is_empty() {
            self.counting.count(&replies).await?;
            let ended = replies.iter().filter_map(|reply| reply.item);
            self.reactors.forget_parents(ended).await?;
        }
        self.cards.forget_beside(&ids).await?;
        for tweet in self.reactors.noted(&ids).await? {
            for reaction in Reaction::ALL {
                while self.forget_some(reaction, tweet).await? {}
            }
            self.reactors.forget(tweet).await?;
        }
        Ok(())
    }

    /// `false` if nothing was left. If there are more than one invocation can remove, the next attempt goes on where this
    /// one stopped.
    async fn forget_some(&self, reaction: Reaction, tweet: TweetId) -> Result<bool> {
        let reactors = self.reactors.some(reaction, tweet, PIECE).await?;
        if reaction == Reaction::Reply {
            // The replies stay. They are their authors' tweets.
            let replies = reactors.iter().map(Reactor::item);
            self.reactors.forget_parents(replies).await?;
        } else {
            let reposts: Vec<Entry> = reactors.iter().filter_map(Reactor::repost).collect();
            erase_reposts(&self.tweets, &self.cards, &reposts).await?;
            let keys = reactors.iter();
            let keys = keys.map(|reactor| ReactionKey::new(reactor.user(), reaction, tweet));
            self.reactions.erase(keys).await?;
        }
        // Last: what has left this table is not found again.
        self.reactors.erase(&reactors).await?;
        Ok(!reactors.is_empty())
    }
}

/// The tweet as a reply, if it is one.
fn reply(post: &Post) -> Option<Change> {
    let Post::Tweet(tweet) = post else {
        return None;
    };
    Some(Change {
        user: tweet.author_id,
        reaction: Reaction::Reply,
        tweet: tweet.in_reply_to?.entry(),
        stands: true,
        item: Some(tweet.id),
    })
}

/// What was posted, and what was deleted.
fn read(records: &[TableRecord]) -> Result<(Vec<Entry>, Vec<Entry>)> {
    let (mut posted, mut deleted) = (Vec::new(), Vec::new());
    for record in records {
        let entry = batch::key::<TweetKey>(record)?.entry();
        if batch::was_inserted(record)? {
            posted.push(entry);
        } else {
            deleted.push(entry);
        }
    }
    Ok((posted, deleted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/settle-reactions.json");

    #[test]
    fn the_event_is_a_deleted_tweet() {
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        let (posted, deleted) = read(&batch.records).expect("a record");
        assert_eq!((posted.len(), deleted.len()), (0, 1));
    }
}
