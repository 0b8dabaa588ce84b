//! Reading a timeline out of sources that are neither sorted nor complete.
//!
//! A cached home timeline is a Redis list: cheap, but it does not sort, does not dedupe, and keeps only the newest
//! [`CAP`] entries. Each way of reading entries therefore comes with a *floor*: from the floor upwards nothing is
//! missing. A page is built only from what lies above the floor of every source, and whoever needs more reads on from
//! a deeper source. That is why a page never skips a tweet.
//!
//! Why a window of a list has a floor at all: an entry is pushed to the head only while its tweet is younger than
//! [`PUSH_WITHIN_MS`]; older ones are inserted where they belong. What lies deeper in the list than entry *w* was
//! pushed before *w*, so it was posted before *w* was pushed, and that is at most [`LATE_MS`] after *w* was posted.
//! Hence everything at least [`LATE_MS`] newer than the last entry of a window is inside the window.

use std::collections::HashSet;

use super::{Entry, TweetId, UserId};

/// How many entries a list keeps.
pub const CAP: usize = 800;

/// How far a list may grow past [`CAP`] before it is trimmed, so that trimming is rare.
pub const SLACK: usize = 40;

/// Older tweets are not pushed to the head of a list but inserted in order.
pub const PUSH_WITHIN_MS: u64 = 5_000;

/// How far out of order the head of a list can be. The distance to [`PUSH_WITHIN_MS`] is what clocks may differ by and
/// a push may take.
pub const LATE_MS: u64 = 10_000;

/// The floor of a source in which nothing can be relied on.
pub const NOTHING_KNOWN: TweetId = TweetId::new(u64::MAX);

/// The floor of a source that holds all there is.
pub const ALL_KNOWN: TweetId = TweetId::new(0);

/// Is this tweet still young enough to be pushed to the head of a list?
pub const fn goes_to_the_head(tweet: TweetId, now_millis: u64) -> bool {
    tweet.millis() + PUSH_WITHIN_MS >= now_millis
}

/// What the last entry of a list says about what is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListEnd {
    /// The list holds every tweet there is, down to the first.
    Bottom,
    /// The list has been created and is being filled by the rebuild with this token.
    Building(u64),
}

impl ListEnd {
    /// As the entry that stands at the end of the list. Its tweet id is 0, below every real one.
    pub const fn to_entry(self) -> Entry {
        let token = match self {
            Self::Bottom => 0,
            Self::Building(token) => token,
        };
        Entry::new(TweetId::new(0), UserId::new(token))
    }

    fn from_entry(entry: Entry) -> Option<Self> {
        match (entry.tweet.get(), entry.author.get()) {
            (0, 0) => Some(Self::Bottom),
            (0, token) => Some(Self::Building(token)),
            _ => None,
        }
    }
}

/// Entries, and the id from which upwards none is missing among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub entries: Vec<Entry>,
    pub floor: TweetId,
}

impl Source {
    /// No entries, and no knowledge of any.
    pub const fn nothing() -> Self {
        Self {
            entries: Vec::new(),
            floor: NOTHING_KNOWN,
        }
    }

    /// No entries, and nothing more to come.
    pub const fn end() -> Self {
        Self {
            entries: Vec::new(),
            floor: ALL_KNOWN,
        }
    }

    /// Only what lies above an id, which the source must reach.
    pub fn above(&self, id: TweetId) -> Self {
        let entries = self
            .entries
            .iter()
            .filter(|entry| entry.tweet > id)
            .copied()
            .collect();
        Self {
            entries,
            floor: ALL_KNOWN,
        }
    }

    /// Goes on with what was read below this source's floor.
    pub fn extend(&mut self, deeper: Self) {
        self.entries.extend(deeper.entries);
        self.floor = deeper.floor;
    }
}

/// What the head of a cached list turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Window {
    /// There is no list.
    Missing,
    /// There is a list that nobody has filled yet.
    Building,
    Read(Source),
}

impl Window {
    /// `entries` as they stand in the list, head first.
    pub fn new(mut entries: Vec<Entry>) -> Self {
        let Some(&last) = entries.last() else {
            return Self::Missing;
        };
        let floor = match ListEnd::from_entry(last) {
            Some(ListEnd::Building(_)) => return Self::Building,
            Some(ListEnd::Bottom) => {
                entries.pop();
                ALL_KNOWN
            }
            None => TweetId::first_at(last.tweet.millis() + LATE_MS),
        };
        Self::Read(Source { entries, floor })
    }
}

/// All sources as one: newest first, each tweet once, only ids below `below`, none of a hidden author, and nothing
/// under the highest floor.
pub fn merge<'a>(
    sources: impl Iterator<Item = &'a Source> + Clone,
    below: TweetId,
    hidden: &HashSet<UserId>,
) -> Source {
    let floor = sources
        .clone()
        .map(|source| source.floor)
        .max()
        .unwrap_or(ALL_KNOWN);
    let mut entries = union(sources, below, hidden);
    entries.retain(|entry| entry.tweet >= floor);
    Source { entries, floor }
}

/// How deep every source must reach for a page of `count`: sources with a higher floor have to be read on.
///
/// What is known so far already fills a page down to here, so nothing below can be on it.
pub fn target<'a>(
    sources: impl Iterator<Item = &'a Source>,
    below: TweetId,
    hidden: &HashSet<UserId>,
    count: usize,
) -> TweetId {
    let last = count
        .checked_sub(1)
        .and_then(|last| union(sources, below, hidden).get(last).copied());
    last.map_or(ALL_KNOWN, |entry| entry.tweet)
}

fn union<'a>(
    sources: impl Iterator<Item = &'a Source>,
    below: TweetId,
    hidden: &HashSet<UserId>,
) -> Vec<Entry> {
    let mut entries: Vec<Entry> = sources
        .flat_map(|source| &source.entries)
        .filter(|entry| entry.tweet < below && !hidden.contains(&entry.author))
        .copied()
        .collect();
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.tweet));
    entries.dedup_by_key(|entry| entry.tweet);
    entries
}

#[cfg(test)]
mod tests {
    use super::super::id::EPOCH_MS;
    use super::*;
    use proptest::prelude::*;

    fn entry(id: u64, author: u64) -> Entry {
        Entry::new(TweetId::new(id), UserId::new(author))
    }

    /// A list as the fan-out leaves it behind: tweets posted at random times arrive after random delays, late ones
    /// are inserted in order, and the list is trimmed now and then.
    fn list_after(tweets: &[(u64, u64)], cap: usize) -> Vec<Entry> {
        let mut arrivals: Vec<(u64, Entry)> = tweets
            .iter()
            .enumerate()
            .map(|(n, &(posted, delay))| {
                let id = TweetId::first_at(EPOCH_MS + posted).get() + n as u64 + 1;
                (EPOCH_MS + posted + delay, entry(id, 1))
            })
            .collect();
        arrivals.sort_by_key(|(arrival, _)| *arrival);
        let mut list = vec![ListEnd::Bottom.to_entry()];
        for (now, entry) in arrivals {
            if goes_to_the_head(entry.tweet, now) {
                list.insert(0, entry);
            } else if let Some(place) = list.iter().position(|other| other.tweet < entry.tweet) {
                list.insert(place, entry);
            }
            list.truncate(cap);
        }
        list
    }

    proptest! {
        #[test]
        fn nothing_above_its_floor_is_missing_from_a_window(
            tweets in prop::collection::vec((0..120_000_u64, prop_oneof![0..PUSH_WITHIN_MS, 0..60_000_u64]), 1..120),
            cap in 2..130_usize,
            window in 1..130_usize,
        ) {
            let list = list_after(&tweets, cap);
            let Window::Read(source) = Window::new(list.into_iter().take(window).collect()) else {
                return Err(TestCaseError::fail("the list exists"));
            };
            for (n, &(posted, _)) in tweets.iter().enumerate() {
                let id = TweetId::new(TweetId::first_at(EPOCH_MS + posted).get() + n as u64 + 1);
                if id >= source.floor {
                    prop_assert!(source.entries.iter().any(|entry| entry.tweet == id), "{id} is above {}", source.floor);
                }
            }
        }

        // Ids differ in their last bits only: what a double (53 bits) could not tell apart stays apart.
        #[test]
        fn a_merge_is_what_sorting_everything_gives(
            left in prop::collection::vec(0..400_u64, 0..200),
            right in prop::collection::vec(0..400_u64, 0..200),
            floors in (0..400_u64, 0..400_u64),
            below in 0..500_u64,
            hidden in 0..4_u64,
        ) {
            let base = (1 << 62) + 1;
            let of = |ids: &[u64], floor: u64| Source {
                entries: ids.iter().map(|id| entry(base + id, id % 4)).collect(),
                floor: TweetId::new(base + floor),
            };
            let merged = merge(
                [of(&left, floors.0), of(&right, floors.1)].iter(),
                TweetId::new(base + below),
                &HashSet::from([UserId::new(hidden)]),
            );
            let floor = floors.0.max(floors.1);
            let expected: Vec<Entry> = (0..400_u64)
                .rev()
                .filter(|id| left.contains(id) || right.contains(id))
                .filter(|id| floor <= *id && *id < below && id % 4 != hidden)
                .map(|id| entry(base + id, id % 4))
                .collect();
            prop_assert_eq!(merged.entries, expected);
            prop_assert_eq!(merged.floor, TweetId::new(base + floor));
        }

        #[test]
        fn sources_read_down_to_the_target_fill_the_page(
            left in prop::collection::vec(1..400_u64, 0..100),
            right in prop::collection::vec(1..400_u64, 0..100),
            floors in (0..400_u64, 0..400_u64),
            count in 1..30_usize,
        ) {
            let above = |ids: &[u64], floor: u64| Source {
                entries: ids.iter().filter(|id| **id >= floor).map(|id| entry(*id, 1)).collect(),
                floor: TweetId::new(floor),
            };
            let (nobody, all) = (HashSet::new(), NOTHING_KNOWN);
            let read = [above(&left, floors.0), above(&right, floors.1)];
            let target = target(read.iter(), all, &nobody, count).get();
            // Only who has a floor above the target is read on.
            let deeper = [above(&left, floors.0.min(target)), above(&right, floors.1.min(target))];
            let page: Vec<Entry> = merge(deeper.iter(), all, &nobody).entries.into_iter().take(count).collect();
            let whole = [above(&left, 0), above(&right, 0)];
            let expected: Vec<Entry> = merge(whole.iter(), all, &nobody).entries.into_iter().take(count).collect();
            prop_assert_eq!(page, expected);
        }

        #[test]
        fn a_walk_by_cursor_gives_everything_once(ids in prop::collection::hash_set(1..10_000_u64, 0..300), size in 1..20_usize) {
            let source = Source { entries: ids.iter().map(|id| entry(*id, 7)).collect(), floor: ALL_KNOWN };
            let (mut below, mut walked) = (NOTHING_KNOWN, Vec::new());
            loop {
                let page = merge(std::iter::once(&source), below, &HashSet::new());
                let Some(last) = page.entries.iter().take(size).next_back() else { break };
                below = last.tweet;
                walked.extend(page.entries.iter().take(size).map(|entry| entry.tweet.get()));
            }
            let mut expected: Vec<u64> = ids.into_iter().collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(walked, expected);
        }
    }

    #[test]
    fn the_end_of_a_list_says_how_much_it_knows() {
        let bottom = ListEnd::Bottom.to_entry();
        assert_eq!(Window::new(vec![]), Window::Missing);
        assert_eq!(
            Window::new(vec![entry(5, 1), ListEnd::Building(9).to_entry()]),
            Window::Building
        );
        assert_eq!(
            Window::new(vec![entry(5, 1), bottom]),
            Window::Read(Source {
                entries: vec![entry(5, 1)],
                floor: ALL_KNOWN
            })
        );
    }
}
