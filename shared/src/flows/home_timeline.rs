//! Reading a home timeline.
//!
//! A [`Walk`] merges sources that each know how far down they can be trusted: the cached list of what was pushed, and
//! one feed per followed celebrity. Whenever a page needs more than lies above the highest floor, the sources that
//! stand in the way are read deeper: the list from its head to its end and on into the tables, a feed from memory to
//! Redis and on into the table. What is missing from Redis is filled on the way.
//! [`HomeTimelines::page`] takes entries from the walk until the page is full of tweets that still exist.
//!
//! A source that fails does not fail the page: it is made of what is left, and [`HomePage::troubles`] says so. Without
//! Redis, everything is read from the tables.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde::Serialize;
use tokio::time::Instant;

use super::feeds::FeedReader;
use super::pull::Pull;
use super::rebuild::{Rebuilds, Rebuilt, in_time};
use crate::domain::event::TimelineFill;
use crate::domain::timeline::{ALL_KNOWN, Source, Window, merge, target};
use crate::domain::{Entry, Origin, PageSize, Tweet, TweetId, User, UserId};
use crate::runtime::aws::Aws;
use crate::runtime::config::Config;
use crate::stores::cards::{Found, Lookup};
use crate::stores::timelines::{Extent, Opened};
use crate::stores::tweets::NEWEST;
use crate::stores::{
    Cards, EventStream, Feeds, Follows, Markers, Receipts, Redis, Timelines, Tweets, Users,
    receipts::Receipt,
};
use crate::{Error, Result};

/// Entries read beyond a page's size, so that the page usually lies above the window's floor.
const LOOK_AHEAD: usize = 80;

/// Queries under way at once.
const CONCURRENCY: usize = 32;

/// How long a page is worked at. What is not there by then is left out, well before the function is stopped.
const BUDGET: Duration = Duration::from_secs(5);

pub struct HomeTimelines {
    timelines: Timelines,
    rebuilds: Rebuilds,
    fills: EventStream,
    feeds: FeedReader,
    cards: Cards,
    markers: Markers,
    receipts: Receipts,
    follows: Follows,
    tweets: Tweets,
    users: Users,
}

#[derive(Debug, Default)]
pub struct HomePage {
    /// Newest first.
    pub tweets: Vec<Tweet>,
    /// The authors, in the order in which they first appear.
    pub users: Vec<User>,
    /// Is there something behind the last tweet?
    pub more: bool,
    /// Why something may be missing; empty where nothing is.
    pub troubles: Troubles,
    /// Changes when the page does.
    pub tag: String,
    /// Does the page reach what was read before?
    pub caught_up: bool,
    /// How each tweet came here.
    origins: HashMap<TweetId, Origin>,
}

/// How a tweet came to the reader's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    pub via: Origin,
    /// After how many milliseconds it was there: for a tweet that was pulled, in its author's feed; for one that was
    /// pushed, with the last of all followers. `None` where that is not known (any more).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible_after_ms: Option<u64>,
}

/// What is above an id.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct News {
    pub count: usize,
    /// Are there more than were counted?
    pub capped: bool,
    pub newest: Option<TweetId>,
    pub troubles: Troubles,
}

impl News {
    /// The most that are counted.
    pub const MOST: usize = 99;

    /// `tweets` newest first.
    fn new(tweets: impl Iterator<Item = TweetId>, troubles: Troubles) -> Self {
        let tweets: Vec<TweetId> = tweets.take(Self::MOST + 1).collect();
        Self {
            count: tweets.len().min(Self::MOST),
            capped: tweets.len() > Self::MOST,
            newest: tweets.first().copied(),
            troubles,
        }
    }
}

/// A page as it fills.
#[derive(Default)]
struct Hydrated {
    tweets: Vec<Tweet>,
    users: HashMap<UserId, User>,
    /// The entries without a tombstone: what the page's tag is made of.
    alive: Vec<Entry>,
    /// Authors whose account was deleted.
    gone: HashSet<UserId>,
}

impl Hydrated {
    fn into_page(mut self, troubles: Troubles) -> HomePage {
        let users = self
            .tweets
            .iter()
            .filter_map(|tweet| self.users.remove(&tweet.author_id))
            .collect();
        let origins = self.alive.iter().map(|entry| (entry.tweet, entry.origin));
        HomePage {
            tweets: self.tweets,
            users,
            origins: origins.collect(),
            troubles,
            ..HomePage::default()
        }
    }
}

/// A weak entity tag: the same for the same tweets of the same reader.
fn tag<'a>(me: UserId, last_read: TweetId, entries: impl Iterator<Item = &'a Entry>) -> String {
    let mut hasher = DefaultHasher::new();
    (me, last_read).hash(&mut hasher);
    entries.for_each(|entry| (entry.tweet, entry.author).hash(&mut hasher));
    format!("W/\"{:016x}\"", hasher.finish())
}

/// What did not answer while a page was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// Redis did not answer.
    CacheUnavailable,
    /// The tables did not answer where the cache did not know.
    TablesUnavailable,
    /// It could not be found out which followed authors are celebrities, or what one of them posted.
    CelebritiesUnavailable,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Troubles(BTreeSet<Trouble>);

impl Troubles {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The result, or `None` and a trouble: Redis' own where it is to blame, else `otherwise`.
    fn note<T>(&mut self, otherwise: Trouble, result: Result<T>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let trouble = match error {
            Error::Redis(_) | Error::RedisDown => Trouble::CacheUnavailable,
            _ => otherwise,
        };
        tracing::warn!(error = error.chain(), ?trouble, "page degraded");
        self.0.insert(trouble);
        None
    }
}

impl HomeTimelines {
    pub fn new(aws: &Aws, redis: Redis, users: Users, config: &Config) -> Result<Self> {
        let tweets = Tweets::new(aws, config)?;
        Ok(Self {
            timelines: Timelines::new(redis.clone(), config)?,
            rebuilds: Rebuilds::new(aws, redis.clone(), users.clone(), config)?,
            fills: EventStream::new(aws, config.timeline_fills_stream()?),
            feeds: FeedReader::new(Feeds::new(redis.clone()), tweets.clone()),
            cards: Cards::new(redis.clone()),
            markers: Markers::new(aws, redis.clone(), config)?,
            receipts: Receipts::new(redis),
            follows: Follows::new(aws, config)?,
            tweets,
            users,
        })
    }

    /// For who reads in somebody else's place.
    pub fn unnoticed(self) -> Self {
        Self {
            timelines: self.timelines.unnoticed(),
            ..self
        }
    }

    /// The page below an id, or the newest. `None` where the client has it already, as `known_tag` says; finding that
    /// out reads no tweet.
    pub async fn page(
        &self,
        me: UserId,
        below: Option<TweetId>,
        size: PageSize,
        known_tag: Option<&str>,
    ) -> Option<HomePage> {
        let mut walk = Walk::begin(self, me, below, size).await;
        let mut next = Vec::new();
        if let Some(known_tag) = known_tag {
            next = self.not_buried(&mut walk, size.get()).await;
            if walk.troubles.is_empty() && known_tag == tag(me, walk.last_read, next.iter()) {
                return None;
            }
        }
        let mut hydrated = Hydrated::default();
        loop {
            if next.is_empty() {
                next = walk.take(size.get() - hydrated.tweets.len()).await;
            }
            if next.is_empty() {
                break;
            }
            self.hydrate(
                &std::mem::take(&mut next),
                &mut hydrated,
                &mut walk.troubles,
            )
            .await;
            if hydrated.tweets.len() >= size.get() {
                break;
            }
            walk.leave_out(&hydrated.gone);
        }
        let more = hydrated.tweets.len() == size.get() && walk.has_more();
        let tag = tag(me, walk.last_read, hydrated.alive.iter().take(size.get()));
        let reached = hydrated
            .tweets
            .last()
            .is_some_and(|oldest| oldest.id <= walk.last_read);
        let caught_up = reached && below.is_none_or(|below| below > walk.last_read);
        Some(HomePage {
            more,
            tag,
            caught_up,
            ..hydrated.into_page(walk.troubles)
        })
    }

    /// The page right above an id: the oldest tweets that are newer, newest first like on any page. So a client that
    /// was away can close the gap to what it has seen without a hole.
    pub async fn page_above(&self, me: UserId, since: TweetId, size: PageSize) -> HomePage {
        let (mut hydrated, mut troubles, mut above) =
            (Hydrated::default(), Troubles::default(), since);
        let mut more = false;
        while hydrated.tweets.len() < size.get() {
            let wanted = size.get() - hydrated.tweets.len();
            let entries = self.entries_above(me, above, wanted, &mut troubles).await;
            let Some(last) = entries.last() else { break };
            (above, more) = (last.tweet, entries.len() == wanted);
            self.hydrate(&entries, &mut hydrated, &mut troubles).await;
        }
        hydrated.tweets.reverse();
        HomePage {
            more,
            ..hydrated.into_page(troubles)
        }
    }

    /// Leaves the rest of a list to `fill-timelines`. A list that nobody fills is whole as far as it goes, so a stream
    /// that does not answer costs speed further down, nothing else.
    async fn leave_to_fill(&self, me: UserId) {
        let event = TimelineFill { user_id: me };
        if let Err(error) = self.fills.put([(me.to_string(), event)]).await {
            tracing::warn!(error = error.chain(), "timeline is not filled");
        }
    }

    /// How the tweets of a page came there, in their order.
    pub async fn explain(&self, page: &HomePage) -> Vec<Explanation> {
        let ids: Vec<TweetId> = page.tweets.iter().map(|tweet| tweet.id).collect();
        let receipts = self.receipts.of(&ids).await.unwrap_or_else(|error| {
            tracing::warn!(error = error.chain(), "page explained without receipts");
            vec![Receipt::default(); ids.len()]
        });
        let explained = ids.iter().zip(receipts).map(|(id, receipt)| {
            let via = page.origins.get(id).copied().unwrap_or_default();
            let visible_after_ms = match via {
                Origin::Pushed => receipt.last_ms,
                Origin::Pulled => receipt.feed_ms,
                Origin::Rebuilt | Origin::Backfilled | Origin::Deep => None,
            };
            Explanation {
                via,
                visible_after_ms,
            }
        });
        explained.collect()
    }

    /// How much there is above an id. Reads no tweet, so that clients can ask often.
    pub async fn news(&self, me: UserId, since: TweetId) -> News {
        let extent = Extent::Newest(News::MOST + LOOK_AHEAD);
        let opened = self.timelines.open(me, extent).await;
        if let Ok(Opened {
            window: Window::Read(list),
            unfollowed,
            celebs: Some(celebs),
            ..
        }) = opened
        {
            let pushed: Vec<Entry> = list
                .entries
                .iter()
                .filter(|entry| entry.tweet > since)
                .copied()
                .collect();
            let (feeds, buried) = tokio::join!(
                self.feeds.newest(&celebs, NEWEST),
                self.cards.buried(&pushed)
            );
            let feeds: Result<Vec<Source>> = feeds.into_values().collect();
            if let (Ok(mut sources), Ok(buried)) = (feeds, buried) {
                sources.push(list);
                let merged = merge(sources.iter(), NEWEST, &unfollowed);
                let new = merged
                    .entries
                    .iter()
                    .filter(|entry| entry.tweet > since && !buried.contains(&entry.tweet));
                let news = News::new(new.map(|entry| entry.tweet), Troubles::default());
                if merged.floor <= since || news.capped {
                    return news;
                }
            }
        }
        // Something is missing or did not answer: walk as for a page.
        let size = PageSize::MAX_SIZE;
        let mut walk = Walk::begin(self, me, None, size).await;
        let entries = self.not_buried(&mut walk, size.get()).await;
        News::new(
            entries
                .iter()
                .map(|entry| entry.tweet)
                .filter(|tweet| *tweet > since),
            walk.troubles,
        )
    }

    /// The next entries without those that have a tombstone.
    async fn not_buried(&self, walk: &mut Walk<'_>, count: usize) -> Vec<Entry> {
        let mut alive = Vec::new();
        while alive.len() < count {
            let mut entries = walk.take(count - alive.len()).await;
            if entries.is_empty() {
                break;
            }
            let buried = self.cards.buried(&entries).await;
            let buried = walk
                .troubles
                .note(Trouble::CacheUnavailable, buried)
                .unwrap_or_default();
            entries.retain(|entry| !buried.contains(&entry.tweet));
            alive.extend(entries);
        }
        alive
    }

    /// The oldest entries above an id, oldest first. Read from the cache where it reaches that deep, and else from the
    /// tables, upwards.
    async fn entries_above(
        &self,
        me: UserId,
        above: TweetId,
        count: usize,
        troubles: &mut Troubles,
    ) -> Vec<Entry> {
        let covers = |source: &Source| source.floor.get() <= above.get() + 1;
        let opened = troubles.note(
            Trouble::CacheUnavailable,
            self.timelines.open(me, Extent::Whole).await,
        );
        let (window, hidden, celebs) = match opened {
            None => (Window::Missing, HashSet::new(), Vec::new()),
            Some(Opened {
                window,
                unfollowed,
                celebs: Some(celebs),
                ..
            }) => (window, unfollowed, celebs),
            Some(Opened {
                window,
                unfollowed,
                celebs: None,
                ..
            }) => {
                let found = self.rebuilds.find_celebs(me).await;
                (
                    window,
                    unfollowed,
                    troubles
                        .note(Trouble::CelebritiesUnavailable, found)
                        .unwrap_or_default(),
                )
            }
        };
        let mut sources = Vec::new();
        let (mut read, mut unread) = (HashSet::new(), Vec::new());
        for (author, source) in self.feeds.newest(&celebs, NEWEST).await {
            match source {
                Ok(source) if covers(&source) => {
                    read.insert(author);
                    sources.push(source);
                }
                _ => unread.push(author),
            }
        }
        match window {
            Window::Read(list) if covers(&list) => sources.push(list),
            _ => {
                let following = self.follows.following(me).await;
                unread = troubles
                    .note(Trouble::TablesUnavailable, following)
                    .unwrap_or(unread);
                unread.retain(|author| !read.contains(author));
                unread.push(me);
            }
        }
        let queries: Vec<_> = unread
            .into_iter()
            .map(|author| self.tweets.oldest_entries(author, above, count))
            .collect();
        let answers: Vec<Result<Vec<Entry>>> = stream::iter(queries)
            .buffer_unordered(CONCURRENCY)
            .collect()
            .await;
        for answer in answers {
            let entries = troubles
                .note(Trouble::TablesUnavailable, answer)
                .unwrap_or_default();
            let source = Source {
                entries,
                floor: ALL_KNOWN,
            };
            sources.push(source.by(Origin::Deep));
        }
        let merged = merge(
            sources
                .iter()
                .map(|source| source.above(above))
                .collect::<Vec<_>>()
                .iter(),
            NEWEST,
            &hidden,
        );
        merged.entries.into_iter().rev().take(count).collect()
    }

    /// Adds the tweets behind the entries, without those that were deleted, and their authors' cards.
    async fn hydrate(&self, entries: &[Entry], hydrated: &mut Hydrated, troubles: &mut Troubles) {
        let users = &mut hydrated.users;
        let authors: BTreeSet<UserId> = entries
            .iter()
            .map(|entry| entry.author)
            .filter(|author| !users.contains_key(author))
            .collect();
        let fetched = self.cards.fetch(entries, &authors).await;
        let cache_answers = fetched.is_ok();
        let mut found = troubles
            .note(Trouble::CacheUnavailable, fetched)
            .unwrap_or_else(|| Found::nothing(entries));

        let unknown: Vec<Entry> = entries
            .iter()
            .zip(&found.tweets)
            .filter(|(_, lookup)| matches!(lookup, Lookup::Unknown))
            .map(|(entry, _)| *entry)
            .collect();
        let strangers: Vec<UserId> = authors
            .into_iter()
            .filter(|author| !found.users.contains_key(author))
            .collect();
        let (read, rows) = tokio::join!(self.tweets.get_many(&unknown), self.users.rows(strangers));
        let read = troubles
            .note(Trouble::TablesUnavailable, read)
            .unwrap_or_default();
        let all_authors_known = rows.is_ok();
        let rows = troubles
            .note(Trouble::TablesUnavailable, rows)
            .unwrap_or_default();
        if cache_answers
            && let Err(error) =
                tokio::try_join!(self.cards.fill_tweets(&read), self.cards.fill_users(&rows))
        {
            tracing::warn!(error = error.chain(), "cards not cached");
        }

        found
            .users
            .extend(rows.into_iter().map(|row| (row.id(), row.into())));
        users.extend(found.users);
        let mut read: HashMap<TweetId, Tweet> =
            read.into_iter().map(|tweet| (tweet.id, tweet)).collect();
        for (entry, lookup) in entries.iter().zip(found.tweets) {
            if all_authors_known && !users.contains_key(&entry.author) {
                // The author's account was deleted, and the tweets are going.
                hydrated.gone.insert(entry.author);
                continue;
            }
            let tweet = match lookup {
                Lookup::Found(tweet) => Some(tweet),
                Lookup::Deleted => continue,
                Lookup::Unknown => read.remove(&entry.tweet),
            };
            hydrated.alive.push(*entry);
            hydrated.tweets.extend(tweet);
        }
    }
}

/// Where the list of what was pushed is read on when its source is used up.
enum ListRest {
    /// The window was not the whole list.
    List,
    /// The list ends; older tweets are in the tables.
    Tables,
    Pull(Box<Pull>),
}

struct Walk<'a> {
    home: &'a HomeTimelines,
    me: UserId,
    /// What is taken next lies below this id.
    below: TweetId,
    hidden: HashSet<UserId>,
    list: Source,
    list_rest: ListRest,
    /// One source for each celebrity.
    feeds: HashMap<UserId, Source>,
    /// Merged and not taken yet; newest first.
    known: VecDeque<Entry>,
    /// The newest tweet that was read before; 0 where that is not known.
    last_read: TweetId,
    troubles: Troubles,
    /// When to stop reading and answer.
    deadline: Instant,
}

impl<'a> Walk<'a> {
    async fn begin(
        home: &'a HomeTimelines,
        me: UserId,
        below: Option<TweetId>,
        size: PageSize,
    ) -> Self {
        // The list is not indexed by id: a page in the middle is found by reading all of it, which is 13 KB.
        let extent = match below {
            None => Extent::Newest(size.get() + LOOK_AHEAD),
            Some(_) => Extent::Whole,
        };
        let mut walk = Self {
            home,
            me,
            below: below.unwrap_or(NEWEST),
            hidden: HashSet::new(),
            list: Source::nothing(),
            list_rest: ListRest::Tables,
            feeds: HashMap::new(),
            known: VecDeque::new(),
            last_read: ALL_KNOWN,
            troubles: Troubles::default(),
            deadline: Instant::now() + BUDGET,
        };
        // Without the cache nothing is known: the walk goes on with the tables, for all authors alike.
        if let Some(celebs) = walk.open(extent).await {
            walk.read_feeds(celebs).await;
        }
        walk.merge();
        walk
    }

    /// Reads the list. Gives the celebrities that were found beside it, as far as they are known; `None` where Redis
    /// does not answer.
    async fn open(&mut self, extent: Extent) -> Option<Option<Vec<UserId>>> {
        let opened = self.home.timelines.open(self.me, extent).await;
        let Opened {
            window,
            unfollowed,
            celebs,
            last_read,
        } = self.troubles.note(Trouble::CacheUnavailable, opened)?;
        self.hidden.extend(unfollowed);
        self.last_read = match last_read {
            Some(last_read) => last_read,
            // A page without its marker is a page all the same.
            None => self
                .home
                .markers
                .get(self.me)
                .await
                .map_or(ALL_KNOWN, |marker| marker.last_read),
        };
        match window {
            Window::Read(source) => {
                let more = matches!(extent, Extent::Newest(count) if source.entries.len() == count);
                self.list_rest = if more {
                    ListRest::List
                } else {
                    ListRest::Tables
                };
                self.list = source;
                Some(celebs)
            }
            Window::Missing | Window::Building => self.rebuild(extent).await,
        }
    }

    /// Like [`Self::open`], for a list that is not there.
    async fn rebuild(&mut self, extent: Extent) -> Option<Option<Vec<UserId>>> {
        let wanted = match extent {
            Extent::Newest(count) => count,
            Extent::Whole => LOOK_AHEAD,
        };
        let rebuilds = &self.home.rebuilds;
        let rebuilt = rebuilds.first_page(self.me, wanted, self.deadline).await;
        // There are too many authors for one read, or there is more than one page: somebody with more time goes on.
        let out_of_time = rebuilt.is_err() && Instant::now() >= self.deadline;
        if out_of_time || matches!(&rebuilt, Ok(Some(rebuilt)) if rebuilt.unfinished) {
            self.home.leave_to_fill(self.me).await;
        }
        let rebuilt = self.troubles.note(Trouble::TablesUnavailable, rebuilt);
        self.list_rest = ListRest::Tables;
        match rebuilt.flatten() {
            Some(Rebuilt { list, celebs, .. }) => {
                self.list = list;
                Some(Some(celebs))
            }
            None => {
                self.list = Source::nothing();
                Some(None)
            }
        }
    }

    async fn read_feeds(&mut self, celebs: Option<Vec<UserId>>) {
        let celebs = match celebs {
            Some(celebs) => celebs,
            None => {
                let found = in_time(self.deadline, self.home.rebuilds.find_celebs(self.me));
                let found = found.await;
                self.troubles
                    .note(Trouble::CelebritiesUnavailable, found)
                    .unwrap_or_default()
            }
        };
        for (author, source) in self.home.feeds.newest(&celebs, self.below).await {
            if let Some(source) = self.troubles.note(Trouble::CelebritiesUnavailable, source) {
                self.feeds.insert(author, source);
            }
        }
    }

    async fn take(&mut self, count: usize) -> Vec<Entry> {
        while self.known.len() < count && self.floor() > ALL_KNOWN {
            self.read_deeper(count).await;
            self.merge();
        }
        let taken: Vec<Entry> = self.known.drain(..count.min(self.known.len())).collect();
        self.below = taken.last().map_or(self.below, |entry| entry.tweet);
        taken
    }

    /// Reads nothing more of these authors.
    fn leave_out(&mut self, authors: &HashSet<UserId>) {
        self.hidden.extend(authors);
        self.feeds.retain(|author, _| !authors.contains(author));
        self.known.retain(|entry| !authors.contains(&entry.author));
    }

    fn has_more(&self) -> bool {
        !self.known.is_empty() || self.floor() > ALL_KNOWN
    }

    fn sources(&self) -> impl Iterator<Item = &Source> + Clone {
        std::iter::once(&self.list).chain(self.feeds.values())
    }

    fn floor(&self) -> TweetId {
        self.sources()
            .map(|source| source.floor)
            .max()
            .unwrap_or(ALL_KNOWN)
    }

    fn merge(&mut self) {
        self.known = merge(self.sources(), self.below, &self.hidden)
            .entries
            .into();
    }

    /// Reads on in every source that stands in the way of `count` entries. One that fails has no more to give: its
    /// floor goes, so that the others can fill the page.
    async fn read_deeper(&mut self, count: usize) {
        let target = target(self.sources(), self.below, &self.hidden, count);
        let feeds: Vec<(UserId, TweetId)> = self
            .feeds
            .iter()
            .filter(|(_, source)| source.floor > target)
            .map(|(author, source)| (*author, source.floor.min(self.below)))
            .collect();
        for (author, deeper) in self.home.feeds.deeper(&feeds).await {
            let deeper = self.troubles.note(Trouble::CelebritiesUnavailable, deeper);
            if let Some(source) = self.feeds.get_mut(&author) {
                source.extend(deeper.unwrap_or_else(Source::end));
            }
        }
        if self.list.floor > target {
            let deeper = in_time(self.deadline, self.read_list_deeper(count)).await;
            if self
                .troubles
                .note(Trouble::TablesUnavailable, deeper)
                .is_none()
            {
                self.list.extend(Source::end());
            }
        }
    }

    async fn read_list_deeper(&mut self, count: usize) -> Result<()> {
        match &mut self.list_rest {
            ListRest::List => {
                if self.open(Extent::Whole).await.is_none() {
                    self.list_rest = ListRest::Tables;
                }
            }
            ListRest::Tables => {
                // Whoever has a feed among the sources is read there.
                let mut authors = self.home.follows.following(self.me).await?;
                authors.retain(|author| !self.feeds.contains_key(author));
                authors.push(self.me);
                let below = self.list.floor.min(self.below);
                let pull = Pull::new(self.home.tweets.clone(), authors, below, count);
                self.list_rest = ListRest::Pull(Box::new(pull));
            }
            ListRest::Pull(pull) => {
                let entries = pull.take(count).await?;
                let exhausted = pull.is_exhausted();
                let last = entries
                    .last()
                    .filter(|_| !exhausted)
                    .map(|entry| entry.tweet);
                let deeper = Source {
                    entries,
                    floor: last.unwrap_or(ALL_KNOWN),
                };
                self.list.extend(deeper.by(Origin::Deep));
            }
        }
        Ok(())
    }
}
