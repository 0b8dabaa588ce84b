//! Walking down a ranked timeline page by page, with nothing kept on the server.
//!
//! The walk goes through the timeline in *windows*: some hundred neighbouring places, which are shown the best first before
//! the next window, which is older, is looked at. The cursor names the window and what was shown of it. So it does not matter
//! that scores change between two pages: what was shown is not shown again, and what is left is. What arrives above the
//! window belongs to another walk.

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::rank::{Scored, arrange};
use super::{PageSize, TweetId, UserId};
use crate::{Error, Result};

/// A window has so many pages at the most.
pub const MOST_PAGES: usize = 3;

/// The most places of one window.
pub const MOST_PLACES: usize = MOST_PAGES * PageSize::MAX as usize;

/// The most ids that a cursor carries: a window, its guests, and some that were shown ahead of their time.
pub const MOST_SHOWN: usize = MOST_PLACES + 120;

/// Of which list a cursor is. Cursors of another list, and of an earlier or later version of this one, are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorOf {
    /// The ranked order, with or without activity.
    Ranked = 1,
    /// The latest order with activity, where `shown` are the guests of the pages before.
    LatestWithActivity = 2,
}

const CHECKSUM: usize = 4;

/// No cursor is longer: each number takes at most nine bytes.
pub const MOST_TEXT: usize = (1 + CHECKSUM + 9 * (4 + MOST_SHOWN)).div_ceil(3) * 4;

/// Where a ranked page ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkCursor {
    /// The window lies below this id.
    pub below: TweetId,
    /// It goes down to this place, which is part of it; `None` if the window has yet to be taken.
    pub floor: Option<TweetId>,
    /// The author of the last item.
    pub last_author: Option<UserId>,
    /// The places below `below` that were shown.
    pub shown: BTreeSet<TweetId>,
}

/// What stands in a window, as far as it was not shown.
#[derive(Debug)]
pub struct Left<T> {
    /// Newest first.
    pub candidates: Vec<Scored<T>>,
    /// Others that may be shown among them. Each is known by its tweet, wherever it comes from.
    pub guests: Vec<Scored<T>>,
    /// `true` if something may lie below the last of them, outside the window.
    pub more_below: bool,
}

impl WalkCursor {
    /// The beginning of a walk: everything is below this id.
    pub const fn start(below: TweetId) -> Self {
        Self {
            below,
            floor: None,
            last_author: None,
            shown: BTreeSet::new(),
        }
    }

    /// The next page, and where it ends; `None` at the end of the walk. The page begins with `first`, which may be from
    /// anywhere below `below`.
    pub fn page<T>(
        mut self,
        first: Vec<Scored<T>>,
        left: Left<T>,
        size: usize,
    ) -> (Vec<Scored<T>>, Option<Self>) {
        let oldest = left.candidates.last().map(|it| it.place.tweet);
        let guests: BTreeSet<TweetId> = left.guests.iter().map(|it| it.place.tweet).collect();
        self.floor = self.floor.or(oldest);
        // So much has arrived late in this window that a cursor cannot name what was shown. The rest comes newest first: then
        // the last place says it.
        let next = size.min(left.candidates.len() + left.guests.len());
        let crowded = self.shown.len() + first.len() + next > MOST_SHOWN;
        let ordered = if crowded {
            left.candidates
        } else {
            let above = first.last().map(|it| it.place.shown().author);
            let mut all = left.candidates;
            all.extend(left.guests);
            arrange(all, above.or(self.last_author))
        };
        let (mut page, mut rest) = (first, 0);
        for next in ordered {
            // A tweet that stands in the window twice, by reposts that are far apart, is not on one page twice.
            let tweet = next.place.shown().tweet;
            let repeats = page.iter().any(|it| it.place.shown().tweet == tweet);
            if page.len() < size && (crowded || !repeats) {
                page.push(next);
            } else if !guests.contains(&next.place.tweet) {
                rest += 1;
            }
        }
        if let Some(last) = page.last() {
            self.last_author = Some(last.place.shown().author);
            if crowded {
                self.below = last.place.tweet;
            }
        }
        self.shown.extend(page.iter().map(|it| it.place.tweet));
        let next = if rest > 0 {
            Some(self.forget_above())
        } else {
            self.next_window().filter(|_| left.more_below)
        };
        (page, next)
    }

    /// The window below this one; `None` if this one was never taken.
    fn next_window(self) -> Option<Self> {
        let below = self.floor?;
        let next = Self {
            below,
            floor: None,
            ..self
        };
        Some(next.forget_above())
    }

    fn forget_above(mut self) -> Self {
        drop(self.shown.split_off(&self.below));
        self
    }

    /// What clients see. It is good for this reader only.
    pub fn to_text(&self, of: CursorOf, reader: UserId) -> String {
        let mut numbers = vec![
            self.below.get(),
            self.floor.map_or(0, TweetId::get),
            self.last_author.map_or(0, UserId::get),
            self.shown.len() as u64,
        ];
        // Neighbours are close, so their distance takes fewer bytes than they do.
        let mut above = self.below.get();
        for id in self.shown.iter().rev() {
            numbers.push(above - id.get());
            above = id.get();
        }
        let mut bytes = Vec::new();
        for number in numbers {
            write_number(&mut bytes, number);
        }
        let text = [vec![of as u8], checksum(reader, &bytes), bytes].concat();
        BASE64_URL_SAFE_NO_PAD.encode(text)
    }

    pub fn parse(text: &str, of: CursorOf, reader: UserId) -> Result<Self> {
        let wrong = || Error::ForeignCursor;
        if text.len() > MOST_TEXT {
            return Err(wrong());
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
        let rest = bytes.strip_prefix(&[of as u8]).ok_or_else(wrong)?;
        let (sum, numbers) = rest.split_at_checked(CHECKSUM).ok_or_else(wrong)?;
        if sum != checksum(reader, numbers) {
            return Err(wrong());
        }
        Self::read(numbers).ok_or_else(wrong)
    }

    fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut next = || read_number(&mut bytes);
        let (below, floor, last_author) = (next()?, next()?, next()?);
        let count = next().filter(|count| *count <= MOST_SHOWN as u64)?;
        let mut above = below;
        let mut shown = BTreeSet::new();
        for _ in 0..count {
            above = above.checked_sub(next()?)?;
            // No place is shown twice, so no distance is 0.
            if !shown.insert(TweetId::new(above)) || above >= below {
                return None;
            }
        }
        let is_given = |number: &u64| *number > 0;
        let fits = bytes.is_empty() && floor <= below;
        fits.then(|| Self {
            below: TweetId::new(below),
            floor: Some(floor).filter(is_given).map(TweetId::new),
            last_author: Some(last_author).filter(is_given).map(UserId::new),
            shown,
        })
    }
}

/// Says whether a cursor was changed, or is somebody else's. Nobody is kept from making one: it leads its maker to pages of
/// the maker's own timeline.
fn checksum(reader: UserId, bytes: &[u8]) -> Vec<u8> {
    let digest = Sha256::new()
        .chain_update(reader.get().to_be_bytes())
        .chain_update(bytes);
    digest.finalize()[..CHECKSUM].to_vec()
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Numbers have 63 bits, so nine bytes are enough.
fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Entry;
    use crate::domain::rank::Score;
    use proptest::prelude::*;

    const ME: UserId = UserId::new(7);
    const OF: CursorOf = CursorOf::Ranked;

    /// A timeline whose scores are as they happen to be now.
    fn scored(entry: Entry, random: &mut fastrand::Rng) -> Scored<()> {
        let part = random.f64();
        Scored {
            score: Score {
                total: part,
                recency: part,
                engagement: part,
                affinity: part,
                content: part,
            },
            place: entry,
            item: (),
        }
    }

    /// What a reader finds in the cursor's window. `timeline` is newest first.
    fn left(
        cursor: &WalkCursor,
        timeline: &[Entry],
        size: usize,
        random: &mut fastrand::Rng,
    ) -> Left<()> {
        let most = cursor.floor.map_or(MOST_PAGES * size, |_| MOST_PLACES);
        let floor = cursor.floor.unwrap_or(TweetId::new(0));
        let below = timeline.iter().filter(|it| it.tweet < cursor.below);
        let unshown = below.filter(|it| !cursor.shown.contains(&it.tweet));
        let mut window: Vec<Entry> = unshown.filter(|it| it.tweet >= floor).copied().collect();
        window.truncate(most);
        let last = window.last().map_or(floor, |it| it.tweet);
        Left {
            more_below: timeline.iter().any(|it| it.tweet < last.min(cursor.below)),
            guests: Vec::new(),
            candidates: window.into_iter().map(|it| scored(it, random)).collect(),
        }
    }

    fn entry(id: u64, author: u64) -> Entry {
        Entry::new(TweetId::new(id), UserId::new(author))
    }

    proptest! {
        #[test]
        fn guests_come_once_and_keep_no_window_open(
            count in 1..900_u64,
            visiting in prop::collection::btree_set(1..9_000_u64, 0..200),
            sizes in prop::collection::vec(1..=100_usize, 1..5),
            seed: u64,
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let timeline: Vec<Entry> = (1..=count).rev().map(|id| entry(id * 10, id % 5 + 1)).collect();
            let mut cursor = Some(WalkCursor::start(TweetId::new(count * 10 + 1)));
            let (mut shown, mut pages) = (BTreeSet::new(), 0);
            while let Some(at) = cursor {
                let size = sizes[pages % sizes.len()];
                let mut left = left(&at, &timeline, size, &mut random);
                // Between the places of the timeline.
                let guests = visiting.iter().map(|id| entry(id * 10 + 5, 9));
                let guests = guests.filter(|it| it.tweet < at.below && !at.shown.contains(&it.tweet));
                left.guests = guests.take(size / 5).map(|it| scored(it, &mut random)).collect();
                let (page, next) = at.page(Vec::new(), left, size);
                for item in page {
                    prop_assert!(shown.insert(item.place.tweet), "{:?} twice", item.place.tweet);
                }
                prop_assert!(next.as_ref().is_none_or(|next| next.shown.len() <= MOST_SHOWN));
                cursor = next;
                pages += 1;
                prop_assert!(pages < 1_000, "no end");
            }
            let own = shown.iter().filter(|id| id.get() % 10 == 0).count() as u64;
            prop_assert_eq!(own, count);
        }

        #[test]
        fn the_pages_of_a_walk_partition_the_timeline_while_scores_change_and_tweets_arrive(
            count in 0..900_u64,
            sizes in prop::collection::vec(1..=100_usize, 1..5),
            seed: u64,
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut timeline: Vec<Entry> = (1..=count).rev().map(|id| entry(id * 10, id % 5 + 1)).collect();
            let expected: BTreeSet<TweetId> = timeline.iter().map(|it| it.tweet).collect();
            let mut cursor = Some(WalkCursor::start(TweetId::new(count * 10 + 1)));
            let (mut shown, mut pages) = (BTreeSet::new(), 0);
            while let Some(at) = cursor {
                let size = sizes[pages % sizes.len()];
                let left = left(&at, &timeline, size, &mut random);
                let (page, next) = at.page(Vec::new(), left, size);
                prop_assert!(page.len() <= size);
                for item in page {
                    prop_assert!(shown.insert(item.place.tweet), "{:?} twice", item.place.tweet);
                }
                if let Some(next) = &next {
                    let text = next.to_text(OF, ME);
                    prop_assert!(text.len() <= MOST_TEXT);
                    prop_assert_eq!(&WalkCursor::parse(&text, OF, ME).expect("a cursor"), next);
                }
                cursor = next;
                timeline.insert(0, entry((count + 1 + pages as u64) * 10, 1));
                pages += 1;
                prop_assert!(pages < 1_000, "no end");
            }
            prop_assert_eq!(shown, expected);
        }

        #[test]
        fn what_arrives_late_in_a_window_comes_and_nothing_else_is_lost(late in 0..700_u64, seed: u64) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut timeline: Vec<Entry> = (1..=400).rev().map(|id| entry(id * 1_000, id % 5 + 1)).collect();
            let mut expected: BTreeSet<TweetId> = timeline.iter().map(|it| it.tweet).collect();
            let mut at = WalkCursor::start(TweetId::new(400_001));
            let (mut shown, mut pages) = (BTreeSet::new(), 0);
            loop {
                let left = left(&at, &timeline, 100, &mut random);
                let (page, next) = at.page(Vec::new(), left, 100);
                for item in page {
                    prop_assert!(shown.insert(item.place.tweet), "{:?} twice", item.place.tweet);
                }
                if pages == 0 {
                    // Somebody is followed whose tweets lie in the middle of the window.
                    let new = (0..late).map(|n| entry(300_001 + n, 9));
                    expected.extend(new.clone().map(|it| it.tweet));
                    timeline.extend(new);
                    timeline.sort_by_key(|it| std::cmp::Reverse(it.tweet));
                }
                pages += 1;
                prop_assert!(pages < 100, "no end");
                let Some(next) = next else { break };
                prop_assert!(next.shown.len() <= MOST_SHOWN);
                at = next;
            }
            prop_assert_eq!(shown, expected);
        }

        #[test]
        fn no_text_breaks_a_cursor(bytes in prop::collection::vec(any::<u8>(), 0..60), text in "\\PC{0,40}") {
            // Also if the checksum fits.
            let sum = checksum(ME, &bytes);
            let made = BASE64_URL_SAFE_NO_PAD.encode([vec![OF as u8], sum, bytes].concat());
            if let Ok(cursor) = WalkCursor::parse(&made, OF, ME) {
                let again = WalkCursor::parse(&cursor.to_text(OF, ME), OF, ME);
                prop_assert_eq!(again.expect("a cursor"), cursor);
            }
            prop_assert!(WalkCursor::parse(&text, OF, ME).is_err());
        }
    }

    #[test]
    fn a_cursor_is_good_for_its_reader_and_its_version_only() {
        let cursor = WalkCursor {
            below: TweetId::new(1_000),
            floor: Some(TweetId::new(10)),
            last_author: Some(UserId::new(3)),
            shown: [500, 700].map(TweetId::new).into(),
        };
        let text = cursor.to_text(OF, ME);
        assert_eq!(WalkCursor::parse(&text, OF, ME).expect("a cursor"), cursor);
        let mut longer = text.clone();
        longer.push('A');
        for (text, reader) in [
            (text.as_str(), 8),
            (&text[1..], 7),
            (&longer, 7),
            ("", 7),
            ("1234567", 7),
            (&"A".repeat(MOST_TEXT + 1), 7),
        ] {
            let parsed = WalkCursor::parse(text, OF, UserId::new(reader));
            assert!(parsed.is_err(), "{text:?} was taken for a cursor");
        }
        let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(&text).expect("bytes");
        bytes[0] = CursorOf::LatestWithActivity as u8;
        let other = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        assert!(WalkCursor::parse(&other, OF, ME).is_err());
    }

    #[test]
    fn a_tweet_that_stands_twice_in_a_window_is_not_twice_on_a_page() {
        let repost = |id| entry(id, 2).reposting(entry(1, 1).reference());
        let timeline = [repost(200), entry(150, 3), repost(100)];
        let mut random = fastrand::Rng::with_seed(1);
        let start = WalkCursor::start(TweetId::new(201));
        let window = left(&start, &timeline, 3, &mut random);
        let (page, next) = start.page(Vec::new(), window, 3);
        assert_eq!(page.len(), 2);
        let next = next.expect("the other place is left");
        let window = left(&next, &timeline, 3, &mut random);
        let (page, next) = next.page(Vec::new(), window, 3);
        assert_eq!((page.len(), next), (1, None));
    }
}
