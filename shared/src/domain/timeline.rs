//! Reading a timeline out of sources that are neither sorted nor complete.
//!
//! A cached home timeline is a Redis list: cheap, but it does not sort, does not dedupe, and keeps only so many of the newest
//! entries (the cap, a parameter of the deployment within [`CAPS`]). Each way of reading entries therefore comes with a
//! *floor*: from the floor upwards nothing is missing. A page is built only from what lies above the floor of every
//! source, and a reader that needs more reads on from a deeper source. That is why a page never skips a tweet.
//!
//! Why a window of a list has a floor at all: an entry is pushed to the head only while its tweet is younger than
//! [`PUSH_WITHIN_MS`]; older ones are inserted where they belong. What lies deeper in the list than entry *w* was
//! pushed before *w*, so it was posted before *w* was pushed, and that is at most [`LATE_MS`] after *w* was posted.
//! Hence everything at least [`LATE_MS`] newer than the last entry of a window is inside the window.
//!
//! A list that was read to its end needs no such rule. Whatever cuts a list notes the highest id that was ever cut off
//! ([`ListEnd::Cut`]), so everything above that id is there, however fast it came. Lists that an older version has cut
//! do not say so, and [`LATE_MS`] holds for them as for a window, until they are cut again.

use std::ops::RangeInclusive;

use super::entry::{Kind, TweetRef};
use super::id::TIME_SHIFT;
use super::{Entry, Origin, TweetId, UserId};

/// How many entries a list may keep, at the least and at the most. More would make scripts that go through a list hold up
/// their shard.
pub const CAPS: RangeInclusive<usize> = 100..=3_200;

/// How far a list may grow past its cap before it is trimmed, so that trimming is rare.
pub const SLACK: usize = 40;

/// Older tweets are not pushed to the head of a list but inserted in order.
pub const PUSH_WITHIN_MS: u64 = 5_000;

/// How far out of order the head of a list can be. The distance to [`PUSH_WITHIN_MS`] is what a push may take, and what is
/// left of the difference between clocks: ids and pushes go by one clock ([`super::clock`]), of which every sandbox knows
/// the time to within a tenth of a second.
///
/// More would be dear: a reader trusts a window only from here above its last entry, so after a burst it has to read the
/// whole list. The scripts know it, too (`stores/scripts/entry.lua`).
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
    /// The list's first page is there, and the rest is still to be filled in.
    Filling(Filling),
    /// The list holds everything above this id, the highest that was ever cut off. Entries below may be there too: what is
    /// pushed late is not looked at.
    Cut(TweetId),
}

/// How far down a list is whole whose rest is still to be filled in, and which of all fillings this is.
///
/// Entries below may be there too: what is delivered, followed or demoted meanwhile is put in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filling(u64);

impl Filling {
    /// Tells a filling from the token of a rebuild, which is smaller.
    const MARK: u64 = 1 << 63;
    /// The bits of an id below its time. Here they hold a random token, so that no two fillings are the same.
    const TOKEN_BITS: u64 = (1 << TIME_SHIFT) - 1;

    /// A filling of a list that is whole from its entry `lowest` upwards.
    pub const fn below(lowest: TweetId, token: u64) -> Self {
        let time = lowest.get() & !Self::TOKEN_BITS;
        Self(Self::MARK | time | (token & Self::TOKEN_BITS))
    }

    /// From here upwards nothing is missing.
    pub const fn floor(self) -> TweetId {
        let time = self.0 & !Self::MARK & !Self::TOKEN_BITS;
        // Rounded up to the next millisecond.
        TweetId::new(time + Self::TOKEN_BITS + 1)
    }
}

impl ListEnd {
    /// The end of a list of these entries, newest first, read from the tables. `bottom` says that there is nothing older.
    pub fn of(entries: &[Entry], bottom: bool) -> Self {
        match entries.last() {
            Some(lowest) if !bottom => {
                Self::Cut(TweetId::new(lowest.tweet.get().saturating_sub(1)))
            }
            _ => Self::Bottom,
        }
    }

    /// As the entry that stands at the end of the list. Its tweet id is 0, below every real one.
    pub const fn to_entry(self) -> Entry {
        let token = match self {
            Self::Bottom => 0,
            Self::Building(token) => token,
            Self::Filling(filling) => filling.0,
            Self::Cut(highest) => {
                // As long as a repost, with the top bit of the second half set. The scripts of versions that do not know
                // this end take it for a filling: they give such a list up before they cut it.
                return Entry::new(TweetId::new(0), UserId::new(highest.get()))
                    .by(Origin::Rebuilt)
                    .reposting(Self::PADDING);
            }
        };
        Entry::new(TweetId::new(0), UserId::new(token))
    }

    pub fn from_entry(entry: Entry) -> Option<Self> {
        match (entry.tweet.get(), entry.author.get(), entry.kind) {
            (0, highest, Kind::Repost(_)) => Some(Self::Cut(TweetId::new(highest))),
            (0, 0, _) => Some(Self::Bottom),
            (0, token, _) if token < Filling::MARK => Some(Self::Building(token)),
            (0, filling, _) => Some(Self::Filling(Filling(filling))),
            _ => None,
        }
    }

    /// From here upwards nothing is missing from a list that was read to this end. `None` if it is not known yet.
    pub const fn floor(self) -> Option<TweetId> {
        match self {
            Self::Bottom => Some(ALL_KNOWN),
            Self::Building(_) => None,
            Self::Filling(filling) => Some(filling.floor()),
            Self::Cut(highest) => Some(TweetId::new(highest.get() + 1)),
        }
    }

    const PADDING: TweetRef = TweetRef {
        tweet_id: TweetId::new(0),
        author_id: UserId::new(0),
        is_reply: false,
    };
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

    /// How many entries are above the floor, of those that the reader may see.
    pub fn known(&self, shows: &impl Fn(&Entry) -> bool) -> usize {
        let entries = self.entries.iter();
        entries
            .filter(|entry| entry.tweet >= self.floor && shows(entry))
            .count()
    }

    /// How deep the newest `count` entries go: the place of the last one. `None` if there are fewer than the lower bound.
    /// Entries below the floor count, too: what is there can be on a page.
    pub fn reach(
        &self,
        below: TweetId,
        shows: &impl Fn(&Entry) -> bool,
        count: RangeInclusive<usize>,
    ) -> Option<TweetId> {
        let entries = union(std::iter::once(self), below, shows);
        let last = entries.len().min(*count.end()).checked_sub(1)?;
        (entries.len() >= *count.start()).then(|| entries[last].tweet)
    }

    /// Says of all entries how they came.
    pub fn by(mut self, origin: Origin) -> Self {
        self.entries
            .iter_mut()
            .for_each(|entry| entry.origin = origin);
        self
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
    /// `entries` as they stand in the list, head first, and the last entry of the whole list.
    pub fn new(mut entries: Vec<Entry>, end: Option<Entry>) -> Self {
        let (Some(&last), Some(end)) = (entries.last(), end) else {
            return Self::Missing;
        };
        let mut floor = TweetId::first_at(last.tweet.millis() + LATE_MS);
        let mut end = end;
        if ListEnd::from_entry(last).is_some() {
            entries.pop();
            floor = ALL_KNOWN;
            // The two are read one after the other, and the list may have been filled in between. What was read of it
            // is as whole as the end says that was read with it.
            end = last;
        }
        // What is below the floor of a list stands in it by chance, so the end counts for every window.
        if let Some(end) = ListEnd::from_entry(end) {
            match end.floor() {
                Some(of_list) => floor = floor.max(of_list),
                None => return Self::Building,
            }
        }
        Self::Read(Source { entries, floor })
    }
}

/// All sources as one: newest first, each entry once, only ids below `below`, only what the reader may see (`shows`), and
/// nothing under the highest floor.
pub fn merge<'a>(
    sources: impl Iterator<Item = &'a Source> + Clone,
    below: TweetId,
    shows: &impl Fn(&Entry) -> bool,
) -> Source {
    let floor = sources
        .clone()
        .map(|source| source.floor)
        .max()
        .unwrap_or(ALL_KNOWN);
    let mut entries = union(sources, below, shows);
    entries.retain(|entry| entry.tweet >= floor);
    Source { entries, floor }
}

/// How deep every source must reach for a page of `count`: sources with a higher floor have to be read on.
///
/// What is known so far already fills a page down to here, so nothing below can be on it.
pub fn target<'a>(
    sources: impl Iterator<Item = &'a Source>,
    below: TweetId,
    shows: &impl Fn(&Entry) -> bool,
    count: usize,
) -> TweetId {
    let last = count
        .checked_sub(1)
        .and_then(|last| union(sources, below, shows).get(last).copied());
    last.map_or(ALL_KNOWN, |entry| entry.tweet)
}

fn union<'a>(
    sources: impl Iterator<Item = &'a Source>,
    below: TweetId,
    shows: &impl Fn(&Entry) -> bool,
) -> Vec<Entry> {
    let mut entries: Vec<Entry> = sources
        .flat_map(|source| &source.entries)
        .filter(|entry| entry.tweet < below && shows(entry))
        .copied()
        .collect();
    // What stands in two sources came by the first of its ways, whichever was read first.
    entries.sort_unstable_by_key(|entry| (std::cmp::Reverse(entry.tweet), entry.origin));
    entries.dedup_by_key(|entry| entry.tweet);
    entries
}

#[cfg(test)]
mod tests {
    use super::super::clock::ClockOffset;
    use super::super::id::EPOCH_MS;
    use super::*;
    use proptest::prelude::*;

    fn entry(id: u64, author: u64) -> Entry {
        Entry::new(TweetId::new(id), UserId::new(author))
    }

    /// One tweet's way into a list. Times are milliseconds by a clock that is right.
    #[derive(Clone, Debug)]
    struct Delivery {
        posted: u64,
        delay: u64,
        /// The sandboxes that post and push it.
        by: (prop::sample::Index, prop::sample::Index),
    }

    /// A sandbox whose clock is wrong, and what it has found out about that.
    #[derive(Clone, Copy, Debug)]
    struct Sandbox {
        skew: i64,
        offset: ClockOffset,
    }

    impl Sandbox {
        /// How far apart the sandboxes' clocks may be, and how long one may wait for the shared clock's time.
        const MOST_SKEW: i64 = 30_000;
        const PATIENCE: u64 = 200;

        fn any() -> impl Strategy<Value = Self> {
            let skew = -Self::MOST_SKEW..=Self::MOST_SKEW;
            (skew, 0..Self::PATIENCE / 2, 0..Self::PATIENCE / 2).prop_map(|(skew, there, back)| {
                let ours = |real: u64| real.saturating_add_signed(skew);
                let offset =
                    ClockOffset::measured(ours(START), START + there, ours(START + there + back));
                let offset = offset.expect("a believable offset");
                Self { skew, offset }
            })
        }

        /// The shared time, as this sandbox knows it.
        fn time(self, real: u64) -> u64 {
            self.offset.apply(real.saturating_add_signed(self.skew))
        }
    }

    const START: u64 = EPOCH_MS + 1_000_000;

    fn deliveries() -> impl Strategy<Value = Vec<Delivery>> {
        let delay = prop_oneof![0..PUSH_WITHIN_MS, 0..60_000_u64];
        let delivery = (
            0..120_000_u64,
            delay,
            any::<(prop::sample::Index, prop::sample::Index)>(),
        );
        let delivery = delivery.prop_map(|(posted, delay, by)| Delivery {
            posted: START + posted,
            delay,
            by,
        });
        prop::collection::vec(delivery, 1..120)
    }

    /// A list as the scripts of `stores/scripts/` leave it behind.
    struct List {
        entries: Vec<Entry>,
        cap: usize,
        slack: usize,
        /// `true` for a version that cuts a list without a word.
        is_old_version: bool,
    }

    impl List {
        fn end(&self) -> ListEnd {
            let last = *self.entries.last().expect("a list is never empty");
            let late = TweetId::new(last.tweet.get() + (LATE_MS << TIME_SHIFT));
            ListEnd::from_entry(last).unwrap_or(ListEnd::Cut(late))
        }

        fn highest_cut(&self) -> TweetId {
            match self.end() {
                ListEnd::Cut(highest) => highest,
                _ => ALL_KNOWN,
            }
        }

        fn without_end(&self) -> Vec<Entry> {
            let entries = self.entries.iter().copied();
            entries.filter(|it| it.tweet > ALL_KNOWN).collect()
        }

        fn deliver(&mut self, entry: Entry, now: u64) {
            if goes_to_the_head(entry.tweet, now) {
                self.entries.insert(0, entry);
            } else if self.is_old_version || entry.tweet > self.highest_cut() {
                let place = self.entries.iter().position(|it| it.tweet <= entry.tweet);
                match place {
                    Some(place) if self.entries[place].tweet < entry.tweet => {
                        self.entries.insert(place, entry);
                    }
                    _ => {}
                }
            }
        }

        fn trim(&mut self) {
            if self.entries.len() <= self.cap + self.slack {
                return;
            }
            if self.is_old_version {
                self.entries.truncate(self.cap);
                return;
            }
            let gone = self.entries[self.cap..].iter().map(|it| it.tweet).max();
            let Some(gone) = gone.filter(|gone| *gone > ALL_KNOWN) else {
                return;
            };
            let highest = gone.max(self.highest_cut());
            self.entries.truncate(self.cap);
            self.entries.push(ListEnd::Cut(highest).to_entry());
        }

        /// `added` are the author's, newest first.
        fn backfill(&mut self, added: &[Entry]) {
            let mut end = self.end();
            let mut entries = self.without_end();
            entries.extend(added.iter().take(self.cap + 1));
            entries.retain(|it| it.tweet > self.highest_cut());
            entries.sort_unstable_by_key(|it| std::cmp::Reverse(it.tweet));
            entries.dedup();
            if let Some(first) = entries.get(self.cap) {
                end = ListEnd::Cut(first.tweet);
                entries.truncate(self.cap);
            }
            entries.push(end.to_entry());
            self.entries = entries;
        }

        fn remove(&mut self, author: UserId) {
            self.entries
                .retain(|it| it.tweet == ALL_KNOWN || it.author != author);
        }
    }

    /// What else happens to a list, and when. Times are milliseconds by a clock that is right.
    #[derive(Clone, Copy, Debug)]
    enum Change {
        Follow(u64),
        Unfollow(u64),
        /// The cap becomes smaller or larger.
        Cap(usize),
    }

    const AUTHORS: u64 = 4;

    fn changes() -> impl Strategy<Value = Vec<(u64, Change)>> {
        let change = prop_oneof![
            (0..AUTHORS).prop_map(Change::Follow),
            (0..AUTHORS).prop_map(Change::Unfollow),
            (2..130_usize).prop_map(Change::Cap),
        ];
        let at = (0..180_000_u64).prop_map(|at| START + at);
        prop::collection::vec((at, change), 0..12)
    }

    /// What becomes of a list: tweets posted at random times arrive after random delays, late ones are inserted in order,
    /// some come twice, authors are followed and unfollowed, and the list is trimmed now and then. Up to `upgrade`, an older
    /// version does it, and nobody is followed or unfollowed. Gives the list, and all tweets that belong into it.
    fn list_after(
        deliveries: &[Delivery],
        changes: &[(u64, Change)],
        sandboxes: &[Sandbox],
        (cap, slack): (usize, usize),
        upgrade: u64,
    ) -> (Vec<Entry>, Vec<Entry>) {
        enum Event {
            Arrival(Entry, u64, bool),
            Change(Change),
        }
        let mut tweets = Vec::new();
        let mut events = Vec::new();
        for (n, delivery) in (0_u64..).zip(deliveries) {
            let arrival = delivery.posted + delivery.delay;
            let stamp = delivery.by.0.get(sandboxes).time(delivery.posted);
            let id = TweetId::first_at(stamp).get() + n + 1;
            let entry = entry(id, n % AUTHORS);
            tweets.push((delivery.posted, entry));
            let now = delivery.by.1.get(sandboxes).time(arrival);
            events.push((arrival, Event::Arrival(entry, now, n % 5 > 0)));
            if n % 7 == 0 {
                let again = arrival + 1_000;
                let now = delivery.by.0.get(sandboxes).time(again);
                events.push((again, Event::Arrival(entry, now, true)));
            }
        }
        let changes = changes.iter().filter(|(at, _)| *at > upgrade);
        events.extend(changes.map(|(at, change)| (*at, Event::Change(*change))));
        events.sort_by_key(|(at, _)| *at);
        let mut list = List {
            entries: vec![ListEnd::Bottom.to_entry()],
            cap,
            slack,
            is_old_version: true,
        };
        let mut followed = [true; AUTHORS as usize];
        for (at, event) in events {
            list.is_old_version = at <= upgrade;
            match event {
                Event::Arrival(entry, now, trims) => {
                    if followed[entry.author.get() as usize] {
                        list.deliver(entry, now);
                    }
                    // A trim may come late.
                    if trims {
                        list.trim();
                    }
                }
                Event::Change(Change::Cap(cap)) => list.cap = cap,
                Event::Change(Change::Follow(author)) => {
                    followed[author as usize] = true;
                    let posted = tweets.iter().filter(|(posted, _)| *posted <= at);
                    let posted = posted.map(|(_, entry)| *entry);
                    let mut posted: Vec<Entry> =
                        posted.filter(|it| it.author.get() == author).collect();
                    posted.sort_unstable_by(|a, b| b.cmp(a));
                    list.backfill(&posted);
                }
                Event::Change(Change::Unfollow(author)) => {
                    followed[author as usize] = false;
                    list.remove(UserId::new(author));
                    if list.entries.is_empty() {
                        // Redis has no empty lists. The next reader makes a new one.
                        return (Vec::new(), Vec::new());
                    }
                }
            }
        }
        let tweets = tweets.into_iter().map(|(_, entry)| entry);
        let tweets = tweets.filter(|it| followed[it.author.get() as usize]);
        (list.entries, tweets.collect())
    }

    proptest! {
        #[test]
        fn nothing_above_its_floor_is_missing_from_a_window_however_wrong_clocks_are(
            deliveries in deliveries(),
            changes in changes(),
            sandboxes in prop::collection::vec(Sandbox::any(), 1..6),
            cap in (2..130_usize, 0..10_usize),
            upgrade in prop_oneof![Just(0), Just(u64::MAX), (0..180_000_u64).prop_map(|at| START + at)],
            window in 1..200_usize,
        ) {
            let (list, tweets) = list_after(&deliveries, &changes, &sandboxes, cap, upgrade);
            prop_assume!(!list.is_empty());
            let end = list.last().copied();
            let Window::Read(source) = Window::new(list.into_iter().take(window).collect(), end) else {
                return Err(TestCaseError::fail("the list exists"));
            };
            for tweet in tweets.iter().filter(|tweet| tweet.tweet >= source.floor) {
                prop_assert!(source.entries.contains(tweet), "{} is above {}", tweet.tweet, source.floor);
            }
        }

        #[test]
        fn a_list_that_was_read_to_its_end_lacks_nothing_but_what_was_cut_off(
            deliveries in deliveries(),
            sandboxes in prop::collection::vec(Sandbox::any(), 1..6),
            cap in 2..130_usize,
        ) {
            let (list, tweets) = list_after(&deliveries, &[], &sandboxes, (cap, 0), 0);
            let end = list.last().copied();
            let Window::Read(source) = Window::new(list, end) else {
                return Err(TestCaseError::fail("the list exists"));
            };
            let gone = tweets.iter().filter(|it| !source.entries.contains(it));
            let highest = gone.map(|it| it.tweet.get()).max();
            // What came twice may have been cut off once.
            let twice = tweets.iter().step_by(7).map(|it| it.tweet.get() + 1);
            let exact = highest.map_or(0, |highest| highest + 1);
            prop_assert!(source.floor.get() == exact || twice.into_iter().any(|it| it == source.floor.get()));
        }

        // A list whose first page was rebuilt: everything above the floor, and below it what happened to be backfilled.
        #[test]
        fn nothing_above_its_floor_is_missing_while_a_list_is_filled(
            ids in prop::collection::btree_set(1..1_u64 << 40, 1..100),
            first_page in 1..100_usize,
            backfilled in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
            window in 1..130_usize,
            token: u64,
        ) {
            let tweets: Vec<Entry> = ids.into_iter().rev().map(|id| entry(id, 1)).collect();
            let first_page = first_page.min(tweets.len());
            let filling = Filling::below(tweets[first_page - 1].tweet, token);
            let mut list = tweets[..first_page].to_vec();
            list.extend(backfilled.iter().map(|index| *index.get(&tweets)).filter(|e| e.tweet < tweets[first_page - 1].tweet));
            list.sort_by_key(|e| std::cmp::Reverse(e.tweet));
            list.dedup();
            let end = ListEnd::Filling(filling).to_entry();
            list.push(end);
            let Window::Read(source) = Window::new(list.into_iter().take(window).collect(), Some(end)) else {
                return Err(TestCaseError::fail("the list exists"));
            };
            prop_assert!(source.floor >= filling.floor());
            for tweet in tweets.iter().filter(|e| e.tweet >= source.floor) {
                prop_assert!(source.entries.contains(tweet));
            }
        }

        #[test]
        fn a_filling_survives_its_entry(id in 1..1_u64 << 63, token: u64) {
            let filling = Filling::below(TweetId::new(id), token);
            prop_assert_eq!(ListEnd::from_entry(ListEnd::Filling(filling).to_entry()), Some(ListEnd::Filling(filling)));
            prop_assert!(filling.floor().get() > id);
            prop_assert!(filling.floor().get() - id <= 1 << TIME_SHIFT);
        }

        #[test]
        fn a_cut_survives_its_entry(highest in 0..1_u64 << 63) {
            let cut = ListEnd::Cut(TweetId::new(highest));
            let bytes = cut.to_entry().to_bytes();
            prop_assert_eq!(bytes.len(), Entry::REPOST_SIZE);
            // What the scripts go by, those of older versions too.
            prop_assert_eq!(&bytes[..8], &[0; 8]);
            prop_assert_eq!(bytes[8..16].to_vec(), (highest | 1 << 63).to_be_bytes());
            prop_assert_eq!(Entry::from_bytes(&bytes).and_then(ListEnd::from_entry), Some(cut));
            prop_assert_eq!(cut.floor(), Some(TweetId::new(highest + 1)));
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
                &|entry: &Entry| entry.author != UserId::new(hidden),
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
            let (everybody, all) = (|_: &Entry| true, NOTHING_KNOWN);
            let read = [above(&left, floors.0), above(&right, floors.1)];
            let target = target(read.iter(), all, &everybody, count).get();
            // Only a source with a floor above the target is read on.
            let deeper = [above(&left, floors.0.min(target)), above(&right, floors.1.min(target))];
            let page: Vec<Entry> = merge(deeper.iter(), all, &everybody).entries.into_iter().take(count).collect();
            let whole = [above(&left, 0), above(&right, 0)];
            let expected: Vec<Entry> = merge(whole.iter(), all, &everybody).entries.into_iter().take(count).collect();
            prop_assert_eq!(page, expected);
        }

        #[test]
        fn a_walk_by_cursor_gives_everything_once(ids in prop::collection::hash_set(1..10_000_u64, 0..300), size in 1..20_usize) {
            let source = Source { entries: ids.iter().map(|id| entry(*id, 7)).collect(), floor: ALL_KNOWN };
            let (mut below, mut walked) = (NOTHING_KNOWN, Vec::new());
            loop {
                let page = merge(std::iter::once(&source), below, &|_: &Entry| true);
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
        let building = ListEnd::Building(9).to_entry();
        let cut = ListEnd::Cut(TweetId::new(3)).to_entry();
        assert_eq!(Window::new(vec![], None), Window::Missing);
        assert_eq!(
            Window::new(vec![entry(5, 1), building], Some(building)),
            Window::Building
        );
        assert_eq!(
            Window::new(vec![entry(5, 1)], Some(building)),
            Window::Building,
            "also where the window does not reach the end"
        );
        assert_eq!(
            Window::new(vec![building], Some(bottom)),
            Window::Building,
            "also where the list was filled right after the window was read"
        );
        let read = |floor| {
            Window::Read(Source {
                entries: vec![entry(5, 1)],
                floor,
            })
        };
        assert_eq!(
            Window::new(vec![entry(5, 1), bottom], Some(bottom)),
            read(ALL_KNOWN)
        );
        assert_eq!(
            Window::new(vec![entry(5, 1), cut], Some(cut)),
            read(TweetId::new(4))
        );
        let late = TweetId::first_at(EPOCH_MS + LATE_MS);
        assert_eq!(
            Window::new(vec![entry(5, 1)], Some(entry(5, 1))),
            read(late),
            "a list that an older version has cut"
        );
        assert_eq!(
            Window::new(vec![entry(5, 1)], Some(cut)),
            read(late),
            "a window"
        );
    }
}
