//! Counting reactions to tweets, and showing the new counts.

use std::collections::HashSet;

use crate::Result;
use crate::domain::{Entry, Reaction, TweetId};
use crate::platform::Roost;
use crate::stores::reactions::{Change, ReactionKey};
use crate::stores::{Cards, ReactionCounters, Reactions, Reactors, TweetStats, Tweets};

/// So many changes of a tweet's counter are followed by a note that there are reactions. The first would do, but a sandbox
/// may die before it has written the note, and others may count meanwhile.
const YOUNG: u64 = 64;

pub struct ReactionCounting {
    counters: ReactionCounters,
    reactions: Reactions,
    reactors: Reactors,
    tweets: Tweets,
    stats: TweetStats,
    cards: Cards,
}

impl ReactionCounting {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            counters: ReactionCounters::new(roost)?,
            reactions: Reactions::new(roost)?,
            reactors: Reactors::new(roost)?,
            tweets: Tweets::new(roost)?,
            stats: TweetStats::new(roost)?,
            cards: Cards::new(roost)?,
        })
    }

    /// Counts what has not been counted yet of these changes. Each reaction is there once. Gives how many tweets were
    /// concerned.
    pub async fn count(&self, changes: &[Change]) -> Result<usize> {
        let counted = self.counters.apply(changes).await?;
        let tweets: Vec<Entry> = counted.into_iter().collect();
        let counts = self.tweets.counts(&tweets).await?;
        let exist: HashSet<TweetId> = counts.iter().map(|(tweet, _)| *tweet).collect();
        // Their tweets were deleted before they were counted, or right after that, when nobody knew yet of reactions.
        let gone = changes.iter().filter(|it| !exist.contains(&it.tweet.tweet));
        let gone: Vec<Change> = gone.copied().collect();
        self.forget(&gone).await?;
        let young = counts.iter().filter(|(_, counts)| counts.version <= YOUNG);
        self.reactors.note(young.map(|(tweet, _)| *tweet)).await?;
        self.stats.set(&counts).await?;
        Ok(counts.len())
    }

    /// Removes reactions to tweets that do not exist any more, whether they stand or not: a repost may have taken the place
    /// of another one before that was counted. A reply stays: it is its author's tweet.
    async fn forget(&self, gone: &[Change]) -> Result<()> {
        let reposts = gone.iter().filter_map(Change::repost);
        let reposts: Vec<Entry> = reposts.collect();
        erase_reposts(&self.tweets, &self.cards, &reposts).await?;
        let marks = gone
            .iter()
            .filter(|change| change.reaction != Reaction::Reply);
        self.reactions.erase(marks.map(ReactionKey::of)).await?;
        self.reactors.erase_of(gone).await
    }
}

/// Removes reposts whose original is gone. Readers do not show them meanwhile, because there is nothing to show.
pub async fn erase_reposts(tweets: &Tweets, cards: &Cards, reposts: &[Entry]) -> Result<()> {
    cards.bury_briefly(reposts).await?;
    tweets.erase_reposts(reposts).await
}
