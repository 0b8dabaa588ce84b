//! One tweet can stand in a timeline several times: as its author's tweet, and once for everybody who reposted it.
//!
//! Of these a reader sees the oldest among any [`NEIGHBOURS`] neighbouring entries. So a tweet that was reposted by a whole
//! crowd is shown once, at its first place, and one that comes up again much later is shown again.
//!
//! Whether an entry is a repeat depends on the entries below it and on nothing else: not on where pages are cut, and not on
//! what arrives later. A repost is always newer than its original, so an ordinary tweet is never a repeat.

use super::Entry;

/// How far apart two places of one tweet must be for both to be shown.
pub const NEIGHBOURS: usize = 80;

/// The older places among [`NEIGHBOURS`] entries that begin with `entry` at which the same tweet is shown. `below` are the
/// entries after it, newest first: so many, or all there are.
pub fn older_places<'a>(
    entry: Entry,
    below: impl Iterator<Item = &'a Entry> + 'a,
) -> impl Iterator<Item = Entry> + 'a {
    let original = entry.repost_of();
    below
        .take(original.map_or(0, |_| NEIGHBOURS - 1))
        .filter(move |other| original.is_some_and(|it| it.tweet_id == other.shown().tweet))
        .copied()
}

/// Leaves the repeats out of a timeline, newest first.
pub fn without_repeats(entries: &[Entry]) -> Vec<Entry> {
    let shown = entries.iter().enumerate().filter(|(index, entry)| {
        older_places(**entry, entries[index + 1..].iter())
            .next()
            .is_none()
    });
    shown.map(|(_, entry)| *entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{TweetId, UserId};
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    fn tweet(id: u64) -> Entry {
        Entry::new(TweetId::new(id), UserId::new(1))
    }

    fn repost(id: u64, of: u64) -> Entry {
        tweet(id).reposting(tweet(of).reference())
    }

    /// Timelines, newest first, in which few tweets are reposted often. Some originals are in the timeline.
    fn timelines() -> impl Strategy<Value = Vec<Entry>> {
        let place = prop_oneof![Just(None), (1..9_u64).prop_map(Some)];
        prop::collection::vec(place, 0..400).prop_map(|places| {
            let entries = places.iter().enumerate().map(|(index, of)| {
                let id = 1_000 + index as u64;
                of.map_or(tweet(id), |of| repost(id, of))
            });
            let originals = (1..5).map(tweet);
            let oldest_first: Vec<Entry> = originals.chain(entries).collect();
            oldest_first.into_iter().rev().collect()
        })
    }

    /// One page as a reader makes it: the next entries below an id, each checked against what lies below it.
    fn page(timeline: &[Entry], below: TweetId, size: usize) -> Vec<Entry> {
        let from = timeline.iter().position(|entry| entry.tweet < below);
        let rest = &timeline[from.unwrap_or(timeline.len())..];
        without_repeats(rest).into_iter().take(size).collect()
    }

    fn walk(timeline: &[Entry], size: usize) -> Vec<Entry> {
        let (mut walked, mut below) = (Vec::new(), TweetId::new(u64::MAX));
        loop {
            let next = page(timeline, below, size);
            let Some(last) = next.last() else {
                return walked;
            };
            below = last.tweet;
            walked.extend(next);
        }
    }

    proptest! {
        #[test]
        fn a_walk_shows_no_tweet_twice_within_eighty_neighbours(timeline in timelines(), size in 1..110_usize) {
            let place: HashMap<TweetId, usize> = timeline.iter().enumerate().map(|(n, e)| (e.tweet, n)).collect();
            let mut last_place: HashMap<TweetId, usize> = HashMap::new();
            for entry in walk(&timeline, size) {
                let here = place[&entry.tweet];
                if let Some(before) = last_place.insert(entry.shown().tweet, here) {
                    prop_assert!(here - before >= NEIGHBOURS, "{} and {}", before, here);
                }
            }
        }

        #[test]
        fn a_walk_loses_no_tweet_for_good(timeline in timelines(), size in 1..110_usize) {
            let walked: HashSet<TweetId> = walk(&timeline, size).iter().map(|entry| entry.shown().tweet).collect();
            for entry in &timeline {
                prop_assert!(walked.contains(&entry.shown().tweet));
            }
        }

        #[test]
        fn pages_of_seven_and_of_a_hundred_give_the_same_sequence(timeline in timelines(), size in 1..110_usize) {
            let expected = without_repeats(&timeline);
            for size in [7, 100, size] {
                prop_assert_eq!(walk(&timeline, size), expected.clone());
            }
        }

        #[test]
        fn what_is_posted_later_changes_nothing_below(timeline in timelines(), later in 0..8_u64) {
            let mut grown = vec![repost(1_000_000, later)];
            grown.extend(&timeline);
            let below = without_repeats(&grown).into_iter().filter(|entry| entry.tweet.get() < 1_000_000);
            prop_assert_eq!(below.collect::<Vec<_>>(), without_repeats(&timeline));
        }
    }

    #[test]
    fn of_a_tweet_and_its_reposts_the_oldest_is_shown() {
        let timeline = [repost(9, 3), tweet(8), repost(7, 2), tweet(3), repost(2, 1)];
        assert_eq!(
            without_repeats(&timeline),
            [tweet(8), repost(7, 2), tweet(3), repost(2, 1)]
        );
    }
}
