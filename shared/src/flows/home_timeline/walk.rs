//! The candidates of a page: the next entries below an id, merged out of all sources.
//!
//! A source is the cached list of what was pushed, or the feed of one celebrity. Each knows how far down it can be
//! trusted (its floor). If a page needs more than lies above the highest floor, the sources that stand in the way are
//! read deeper: the list from its head to its end and on into the tables, a feed from memory to Redis and on into the
//! table. What is missing from Redis is filled on the way.
//!
//! After a burst, the head of the list alone does not make a page. Then the whole list is read beside the feeds, so that a
//! page takes no more round trips than any other.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::super::rebuild::{Rebuilt, in_time};
use super::super::table_merge::TableMerge;
use super::filter::Filter;
use super::opening::{CachedList, Opening};
use super::{GRACE, HomeTimelines, LOOK_AHEAD, Trouble, Troubles};
use crate::domain::event::TimelineFill;
use crate::domain::repeats::{NEIGHBOURS, older_places};
use crate::domain::timeline::{ALL_KNOWN, Source, merge, target};
use crate::domain::{Entry, Origin, TweetId, UserId};
use crate::stores::reacted::Marks;
use crate::stores::timelines::Extent;
use crate::stores::tweets::NEWEST;
use crate::{Error, Result};

/// An entry that may be shown next.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) entry: Entry,
    /// Older reposts of the same tweet close by. If one of them stands, this entry is a repeat.
    pub(super) older: Vec<Entry>,
}

impl Candidate {
    /// An entry that is no repeat.
    pub(super) const fn certain(entry: Entry) -> Self {
        Self {
            entry,
            older: Vec::new(),
        }
    }
}

/// How long a reader waits until the rest of its list is handed over.
const HAND_OVER: Duration = Duration::from_millis(500);

/// So many candidates that may be repeats are taken at once. If a page needs more, it comes again.
const MOST_UNCERTAIN: usize = 100;

pub(super) struct Walk<'a> {
    home: &'a HomeTimelines,
    pub(super) me: UserId,
    /// The next candidates lie below this id.
    below: TweetId,
    pub(super) filter: Filter,
    list: Source,
    list_rest: ListRest,
    /// One source for each celebrity.
    feeds: HashMap<UserId, Source>,
    /// Merged and not taken yet; newest first.
    known: VecDeque<Entry>,
    /// The newest tweet that was read before; 0 if that is not known.
    pub(super) last_read: TweetId,
    pub(super) troubles: Troubles,
    /// When to stop reading and answer.
    pub(super) deadline: Instant,
    /// Queries that reading below the list has cost so far.
    pub(super) queries: usize,
    /// Tweets that were guests on an earlier page. They are not shown again for being reposted.
    pub(super) already_shown: BTreeSet<TweetId>,
}

/// The place to read on when the list's source is used up.
enum ListRest {
    /// The window was not the whole list.
    List,
    /// The list ends; older tweets are in the tables.
    Tables,
    /// The tables are being read.
    Merge(Box<TableMerge>),
}

impl<'a> Walk<'a> {
    pub(super) async fn begin(
        home: &'a HomeTimelines,
        me: UserId,
        below: Option<TweetId>,
        size: usize,
        deadline: Instant,
    ) -> Self {
        // The list is not indexed by id: a page in the middle is found by reading all of it, which is 13 to 26 KB.
        let extent = match below {
            None => Extent::Newest(size + LOOK_AHEAD),
            Some(_) => Extent::Whole,
        };
        let feeds_below = below.unwrap_or(NEWEST);
        let mut walk = Self::unread(home, me, below, deadline);
        walk.open(extent, Some(size), feeds_below).await;
        walk
    }

    /// Like [`Self::begin`], but reads all of the list and the head of every feed, whatever `below` is: for readers who want
    /// to know what is in the timeline anyway.
    pub(super) async fn begin_with_all(
        home: &'a HomeTimelines,
        me: UserId,
        below: Option<TweetId>,
        deadline: Instant,
    ) -> Self {
        let mut walk = Self::unread(home, me, below, deadline);
        walk.open(Extent::Whole, None, NEWEST).await;
        walk
    }

    fn unread(
        home: &'a HomeTimelines,
        me: UserId,
        below: Option<TweetId>,
        deadline: Instant,
    ) -> Self {
        Self {
            home,
            me,
            below: below.unwrap_or(NEWEST),
            filter: Filter::default(),
            list: Source::nothing(),
            list_rest: ListRest::Tables,
            feeds: HashMap::new(),
            known: VecDeque::new(),
            last_read: ALL_KNOWN,
            troubles: Troubles::default(),
            deadline,
            queries: 0,
            already_shown: BTreeSet::new(),
        }
    }

    /// Reads the sources for a page of `size`, or all of them without one.
    async fn open(&mut self, extent: Extent, size: Option<usize>, feeds_below: TweetId) {
        let (home, me, deadline) = (self.home, self.me, self.deadline);
        let opening = home.open(me, extent, deadline, &mut self.troubles).await;
        let Some(filter) = opening.filter else {
            self.list = Source::end();
            return;
        };
        self.filter = filter;
        self.last_read = home.last_read(me, opening.last_read, deadline).await;
        let rebuilt = self.use_list(opening.list, extent).await;
        let celebs = rebuilt.or(opening.celebs);
        let known = self.list.known(&|entry| self.filter.shows(entry));
        let is_short = size.is_some_and(|size| known < size);
        let feeds = (feeds_below, self.depth(size));
        if is_short && matches!(self.list_rest, ListRest::List) {
            let mut troubles = Troubles::default();
            let (whole, ()) = tokio::join!(
                home.open(me, Extent::Whole, deadline, &mut troubles),
                self.read_feeds(celebs, feeds)
            );
            self.troubles.extend(troubles);
            self.use_whole_list(whole).await;
        } else {
            self.read_feeds(celebs, feeds).await;
        }
        self.merge();
    }

    /// The next candidates, newest first; none at the very end. Candidates that may be repeats do not count, so up to
    /// [`MOST_UNCERTAIN`] more are given.
    pub(super) async fn take(&mut self, count: usize) -> Vec<Candidate> {
        self.take_down_to(ALL_KNOWN, count).await
    }

    /// Like [`Self::take`], but nothing below `floor`.
    pub(super) async fn take_down_to(&mut self, floor: TweetId, count: usize) -> Vec<Candidate> {
        let (mut taken, mut certain) = (Vec::new(), 0);
        while certain < count && taken.len() < count + MOST_UNCERTAIN {
            self.know(count - certain, floor).await;
            if self.known.front().is_some_and(|next| next.is_repost()) {
                // Whether it is a repeat depends on what lies below it.
                self.know(NEIGHBOURS, ALL_KNOWN).await;
            }
            let Some(entry) = self.known.pop_front_if(|next| next.tweet >= floor) else {
                break;
            };
            self.below = entry.tweet;
            if entry.is_repost() && self.already_shown.contains(&entry.shown().tweet) {
                continue;
            }
            let older: Vec<Entry> = older_places(entry, self.known.iter()).collect();
            // The original's own place is there as long as there is anything to repost.
            if older.iter().any(|place| !place.is_repost()) {
                continue;
            }
            certain += usize::from(older.is_empty());
            taken.push(Candidate { entry, older });
        }
        taken
    }

    /// The next candidates as far as they are known without reading on. They are not taken.
    pub(super) fn known_candidates(&self, count: usize) -> Vec<Candidate> {
        let known = self.known.iter().take(count).enumerate();
        let candidates = known.map(|(index, entry)| Candidate {
            entry: *entry,
            older: older_places(*entry, self.known.iter().skip(index + 1)).collect(),
        });
        let is_possible = |it: &Candidate| it.older.iter().all(|place| place.is_repost());
        candidates.filter(is_possible).collect()
    }

    /// The next `count` entries as they stand, with repeats; fewer at the very end.
    pub(super) async fn peek(&mut self, count: usize) -> Vec<Entry> {
        self.know(count, ALL_KNOWN).await;
        self.known.iter().take(count).copied().collect()
    }

    /// Reads on until so many entries are known, or all down to `floor`.
    async fn know(&mut self, count: usize, floor: TweetId) {
        while self.known.len() < count && self.floor() > floor {
            self.read_deeper(count).await;
            self.merge();
        }
    }

    /// Like [`Self::take`], without what has a tombstone, what the reader has hidden, and repeats. May be some more than
    /// `count`. Says what the reader thinks of the tweets.
    pub(super) async fn take_visible(&mut self, count: usize) -> (Vec<Entry>, Marks) {
        let (mut visible, mut all_marks) = (Vec::new(), Marks::default());
        while visible.len() < count {
            let candidates = self.take(count - visible.len()).await;
            if candidates.is_empty() {
                break;
            }
            let places: Vec<Entry> = candidates.iter().map(|it| it.entry).collect();
            let older = candidates.iter().flat_map(|it| it.older.iter().copied());
            let older: BTreeSet<Entry> = older.collect();
            let until = self.deadline + GRACE;
            let (buried, standing, marks) = tokio::join!(
                self.home.cards.buried(&places),
                in_time(until, self.home.standing(older)),
                in_time(until, self.home.my_reactions.to_entries(self.me, &places))
            );
            let buried = self.troubles.note(Trouble::CacheUnavailable, buried);
            let buried = buried.unwrap_or_default();
            let standing = self.troubles.note(Trouble::TablesUnavailable, standing);
            let standing = standing.unwrap_or_default();
            let Some(marks) = self.troubles.note(Trouble::TablesUnavailable, marks) else {
                break;
            };
            visible.extend(candidates.into_iter().filter_map(|it| {
                let is_visible = !buried.contains(&it.entry.tweet)
                    && !it.older.iter().any(|place| standing.contains(&place.tweet))
                    && !marks.hidden.contains(&it.entry.shown().tweet);
                is_visible.then_some(it.entry)
            }));
            all_marks.extend(marks);
        }
        (visible, all_marks)
    }

    /// Everything that was read, in no order, whether or not it was taken.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.sources().flat_map(|source| &source.entries)
    }

    /// Of the other people whose entries these are, those who posted last.
    pub(super) fn people(&self, count: usize) -> Vec<UserId> {
        let entries = self.entries().filter(|it| self.filter.shows(it));
        let mut entries: Vec<&Entry> = entries.filter(|it| it.author != self.me).collect();
        entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.tweet));
        let mut people = Vec::new();
        for entry in entries {
            if people.len() < count && !people.contains(&entry.author) {
                people.push(entry.author);
            }
        }
        people
    }

    /// Reads and shows nothing more of these authors.
    pub(super) fn leave_out(&mut self, authors: &HashSet<UserId>) {
        self.filter.exclude(authors.iter().copied());
        self.feeds.retain(|author, _| !authors.contains(author));
    }

    /// `true` if it is time to answer with what is there.
    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline + GRACE
    }

    /// Notes that a page ends because time does.
    pub(super) fn end_early(&mut self) {
        let late = Err::<(), _>(Error::GaveUp("reading a page in time"));
        self.troubles.note(Trouble::TablesUnavailable, late);
    }

    /// `true` if something may be left to take.
    pub(super) fn has_more(&self) -> bool {
        let known = self.known.iter().any(|entry| self.filter.shows(entry));
        known || self.floor() > ALL_KNOWN
    }

    /// Takes the list as it was found. Gives the celebrities, if the list had to be rebuilt and they were found with it.
    async fn use_list(&mut self, list: CachedList, extent: Extent) -> Option<Vec<UserId>> {
        self.list_rest = ListRest::Tables;
        match list {
            CachedList::Read(source) => {
                if matches!(extent, Extent::Newest(count) if source.entries.len() == count) {
                    self.list_rest = ListRest::List;
                }
                self.list = source;
                None
            }
            CachedList::Missing => self.rebuild(extent).await,
            CachedList::Unreachable => None,
        }
    }

    /// Takes the whole list, of which only a window was read so far.
    async fn use_whole_list(&mut self, opening: Opening) {
        self.filter.extend(opening.filter.unwrap_or_default());
        self.use_list(opening.list, Extent::Whole).await;
    }

    async fn rebuild(&mut self, extent: Extent) -> Option<Vec<UserId>> {
        let wanted = match extent {
            Extent::Newest(count) => count,
            Extent::Whole => LOOK_AHEAD,
        };
        let wanted = wanted.min(self.home.timelines.cap());
        let rebuilds = &self.home.rebuilds;
        let rebuilt = rebuilds.first_page(self.me, wanted, self.deadline).await;
        // There are too many authors for one read, or there is more than one page: `fill-timelines` has more time.
        let out_of_time = rebuilt.is_err() && Instant::now() >= self.deadline;
        if out_of_time || matches!(&rebuilt, Ok(Some(rebuilt)) if rebuilt.unfinished) {
            self.leave_to_fill().await;
        }
        let rebuilt = self.troubles.note(Trouble::TablesUnavailable, rebuilt);
        match rebuilt.flatten() {
            Some(Rebuilt { list, celebs, .. }) => {
                self.list = list;
                Some(celebs)
            }
            None => {
                self.list = Source::nothing();
                None
            }
        }
    }

    /// Leaves the rest of a list to `fill-timelines`. A list that is not filled is whole as far as it goes, so a table
    /// that does not answer costs speed further down, nothing else.
    async fn leave_to_fill(&self) {
        let event = TimelineFill { user_id: self.me };
        let put = self.home.fills.put([(self.me.to_string(), event)]);
        // The page's own deadline may be over.
        if let Err(error) = in_time(Instant::now() + HAND_OVER, put).await {
            tracing::warn!(error = error.chain(), "timeline is not filled");
        }
    }

    /// How deep the feeds are read for a page: as deep as it would go in the list alone, with the neighbours of its last
    /// repost. Everything, if the list ends here, so that the page knows whether it is the last one.
    fn depth(&self, size: Option<usize>) -> TweetId {
        let shows = |entry: &Entry| self.filter.shows(entry);
        let size = size.filter(|_| self.list.floor > ALL_KNOWN);
        let reach = size.and_then(|size| {
            let enough = size..=size + NEIGHBOURS;
            self.list.reach(self.below, &shows, enough)
        });
        reach.unwrap_or(ALL_KNOWN)
    }

    async fn read_feeds(
        &mut self,
        celebs: Option<Vec<UserId>>,
        (below, down_to): (TweetId, TweetId),
    ) {
        let (home, me, deadline) = (self.home, self.me, self.deadline);
        let mut celebs = home.celebs(me, celebs, deadline, &mut self.troubles).await;
        celebs.retain(|author| !self.filter.hides(*author));
        let feeds = home.feeds.newest(&celebs, below, down_to, deadline);
        for (author, source) in feeds.await {
            if let Some(source) = self.troubles.note(Trouble::CelebritiesUnavailable, source) {
                self.feeds.insert(author, source);
            }
        }
    }

    fn sources(&self) -> impl Iterator<Item = &Source> + Clone {
        std::iter::once(&self.list).chain(self.feeds.values())
    }

    fn floor(&self) -> TweetId {
        let floors = self.sources().map(|source| source.floor);
        floors.max().unwrap_or(ALL_KNOWN)
    }

    fn merge(&mut self) {
        let merged = merge(self.sources(), self.below, &|it| self.filter.shows(it));
        self.known = merged.entries.into();
    }

    /// Reads on in every source that stands in the way of `count` entries. A source that fails has no more to give: its
    /// floor goes, so that the others can fill the page.
    async fn read_deeper(&mut self, count: usize) {
        let shows = |entry: &Entry| self.filter.shows(entry);
        let target = target(self.sources(), self.below, &shows, count);
        let feeds: Vec<(UserId, TweetId)> = self
            .feeds
            .iter()
            .filter(|(_, source)| source.floor > target)
            .map(|(author, source)| (*author, source.floor.min(self.below)))
            .collect();
        for (author, deeper) in self.home.feeds.deeper(&feeds, self.deadline).await {
            let deeper = self.troubles.note(Trouble::CelebritiesUnavailable, deeper);
            if let Some(source) = self.feeds.get_mut(&author) {
                source.extend(deeper.unwrap_or_else(Source::end));
            }
        }
        if self.list.floor > target {
            let deeper = in_time(self.deadline, self.read_list_deeper(count)).await;
            let read = self.troubles.note(Trouble::TablesUnavailable, deeper);
            if read.is_none() {
                self.list.extend(Source::end());
            }
        }
    }

    async fn read_list_deeper(&mut self, count: usize) -> Result<()> {
        match &mut self.list_rest {
            ListRest::List => {
                let (home, me, deadline) = (self.home, self.me, self.deadline);
                let whole = home.open(me, Extent::Whole, deadline, &mut self.troubles);
                let whole = whole.await;
                self.use_whole_list(whole).await;
            }
            ListRest::Tables => {
                // An author who has a feed among the sources is read there.
                let mut authors = self.home.following.all(self.me).await?;
                authors.retain(|author| {
                    !self.feeds.contains_key(author) && !self.filter.hides(*author)
                });
                authors.push(self.me);
                let below = self.list.floor.min(self.below);
                let merge = TableMerge::new(self.home.tweets.clone(), authors, below, count);
                self.list_rest = ListRest::Merge(Box::new(merge));
            }
            ListRest::Merge(merge) => {
                let before = merge.queries();
                let taken = merge.take(count).await;
                self.queries += merge.queries() - before;
                let entries = taken?;
                let exhausted = merge.is_exhausted();
                let last = entries.last().filter(|_| !exhausted);
                let floor = last.map_or(ALL_KNOWN, |entry| entry.tweet);
                self.list.extend(Source { entries, floor }.by(Origin::Deep));
            }
        }
        Ok(())
    }
}
