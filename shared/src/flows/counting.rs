//! Counting reactions to tweets, and showing the new counts.

use crate::Result;
use crate::domain::{Entry, Reaction};
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
        self.forget(&counted.gone).await?;
        let tweets: Vec<Entry> = counted.tweets.into_iter().collect();
        let counts = self.tweets.counts(&tweets).await?;
        let young = counts.iter().filter(|(_, counts)| counts.version <= YOUNG);
        self.reactors.note(young.map(|(tweet, _)| *tweet)).await?;
        self.stats.set(&counts).await?;
        Ok(counts.len())
    }

    /// Removes reactions that came in while their tweet was deleted. A reply stays: it is its author's tweet.
    async fn forget(&self, gone: &[Change]) -> Result<()> {
        let reposts = gone.iter().filter_map(Change::repost);
        let reposts: Vec<Entry> = reposts.collect();
        erase_reposts(&self.tweets, &self.cards, &reposts).await?;
        let marks = gone
            .iter()
            .filter(|change| change.reaction != Reaction::Reply);
        self.reactions.erase(marks.map(ReactionKey::of)).await
    }
}

/// Removes reposts whose original is gone. Readers do not show them meanwhile, because there is nothing to show.
pub async fn erase_reposts(tweets: &Tweets, cards: &Cards, reposts: &[Entry]) -> Result<()> {
    cards.bury_briefly(reposts).await?;
    tweets.erase_reposts(reposts).await
}
