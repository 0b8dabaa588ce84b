//! Comparing a page that was served with what it should have been.

use std::collections::BTreeSet;

use super::{Entry, Origin, TweetId, UserId};

/// What is wrong with a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Should have been there.
    pub missing: BTreeSet<Entry>,
    /// Should not have been there.
    pub ghosts: BTreeSet<Entry>,
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.ghosts.is_empty()
    }

    /// What both find wrong. A page and the tables are not read at the same instant, so only what two comparisons in a
    /// row agree on is certain.
    pub fn both(&self, other: &Self) -> Self {
        let common = |a: &BTreeSet<Entry>, b| a.intersection(b).copied().collect();
        Self {
            missing: common(&self.missing, &other.missing),
            ghosts: common(&self.ghosts, &other.ghosts),
        }
    }

    /// Whose tweets are concerned.
    pub fn authors(&self) -> BTreeSet<UserId> {
        let entries = self.missing.iter().chain(&self.ghosts);
        entries.map(|entry| entry.author).collect()
    }

    /// Which tweets are concerned, and which reposts.
    pub fn tweets(&self) -> Vec<TweetId> {
        let entries = self.missing.iter().chain(&self.ghosts);
        let both = entries.flat_map(|entry| [entry.tweet, entry.shown().tweet]);
        both.collect()
    }
}

/// Compares a page, newest first, with the newest tweets there really are, at least as many. Tweets from `settled` on
/// may still be on their way, and do not count. `more` says that the page is not the end of the timeline.
pub fn compare(page: &[Entry], truth: &[Entry], settled: TweetId, more: bool) -> Difference {
    let lowest = page
        .last()
        .filter(|_| more)
        .map_or(TweetId::new(0), |entry| entry.tweet);
    let counts = |entry: &&Entry| entry.tweet < settled && entry.tweet >= lowest;
    // How an entry came does not matter here.
    let plain = |entry: &Entry| entry.by(Origin::default());
    let served: BTreeSet<Entry> = page.iter().filter(counts).map(plain).collect();
    let true_ones: BTreeSet<Entry> = truth.iter().filter(counts).map(plain).collect();
    Difference {
        missing: true_ones.difference(&served).copied().collect(),
        ghosts: served.difference(&true_ones).copied().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(id: u64) -> Entry {
        Entry::new(TweetId::new(id), UserId::new(1))
    }

    proptest! {
        #[test]
        fn the_beginning_of_the_truth_is_never_different(
            ids in prop::collection::btree_set(1..1_000_u64, 0..60),
            size in 1..30_usize,
            settled in 0..1_100_u64,
        ) {
            let truth: Vec<Entry> = ids.into_iter().rev().map(entry).collect();
            let page = &truth[..size.min(truth.len())];
            let more = page.len() < truth.len();
            prop_assert!(compare(page, &truth, TweetId::new(settled), more).is_empty());
        }

        #[test]
        fn what_was_taken_out_or_put_in_is_found_if_it_has_settled(
            ids in prop::collection::btree_set(1..1_000_u64, 2..60),
            lost in any::<prop::sample::Index>(),
            ghost in 1..1_000_u64,
            settled in 0..1_100_u64,
        ) {
            prop_assume!(!ids.contains(&ghost));
            let truth: Vec<Entry> = ids.iter().rev().copied().map(entry).collect();
            let lost = *lost.get(&truth);
            let mut page: Vec<Entry> = truth.iter().copied().filter(|e| *e != lost).collect();
            page.push(entry(ghost));
            page.sort_by(|a, b| b.cmp(a));
            let settled = TweetId::new(settled);
            let found = compare(&page, &truth, settled, false);
            prop_assert_eq!(found.missing.contains(&lost), lost.tweet < settled);
            prop_assert_eq!(found.ghosts.contains(&entry(ghost)), entry(ghost).tweet < settled);
            prop_assert_eq!(found.missing.len() + found.ghosts.len(),
                usize::from(lost.tweet < settled) + usize::from(entry(ghost).tweet < settled));
        }
    }
}
