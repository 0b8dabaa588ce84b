//! Reading a home timeline.
//!
//! A [`Walk`] merges sources that each know how far down they can be trusted: the cached list of what was pushed, and
//! one feed per followed celebrity. Whenever a page needs more than lies above the highest floor, the sources that
//! stand in the way are read deeper: the list from its head to its end and on into the tables, a feed from memory to
//! Redis and on into the table. What is missing from Redis is filled on the way.
//! [`HomeTimelines::page`] takes entries from the walk until the page is full of tweets that still exist.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use super::feeds::FeedReader;
use super::pull::Pull;
use super::tiers::tiers_of;
use crate::Result;
use crate::domain::timeline::{ALL_KNOWN, CAP, Source, Window, merge, target};
use crate::domain::{Entry, PageSize, Tier, Tweet, TweetId, User, UserId};
use crate::stores::cards::Lookup;
use crate::stores::timelines::{Extent, Opened};
use crate::stores::tweets::NEWEST;
use crate::stores::{Cards, Celebs, Follows, Timelines, Tweets, Users};

/// Entries read beyond a page's size, so that the page usually lies above the window's floor.
const LOOK_AHEAD: usize = 80;

pub struct HomeTimelines {
    pub timelines: Timelines,
    pub celebs: Celebs,
    pub feeds: FeedReader,
    pub cards: Cards,
    pub follows: Follows,
    pub tweets: Tweets,
    pub users: Users,
}

#[derive(Debug, Default)]
pub struct HomePage {
    /// Newest first.
    pub tweets: Vec<Tweet>,
    /// The authors, in the order in which they first appear.
    pub users: Vec<User>,
    /// Is there something behind the last tweet?
    pub more: bool,
}

impl HomeTimelines {
    pub async fn page(
        &self,
        me: UserId,
        below: Option<TweetId>,
        size: PageSize,
    ) -> Result<HomePage> {
        let mut walk = Walk::begin(self, me, below, size).await?;
        let mut page = HomePage::default();
        let mut users = HashMap::new();
        while page.tweets.len() < size.get() {
            let entries = walk.take(size.get() - page.tweets.len()).await?;
            if entries.is_empty() {
                break;
            }
            page.tweets
                .extend(self.hydrate(&entries, &mut users).await?);
        }
        page.more = page.tweets.len() == size.get() && walk.has_more();
        for tweet in &page.tweets {
            page.users.extend(users.remove(&tweet.author_id));
        }
        Ok(page)
    }

    /// The tweets behind the entries, without those that were deleted, and their authors' cards.
    async fn hydrate(
        &self,
        entries: &[Entry],
        users: &mut HashMap<UserId, User>,
    ) -> Result<Vec<Tweet>> {
        let authors: BTreeSet<UserId> = entries
            .iter()
            .map(|entry| entry.author)
            .filter(|author| !users.contains_key(author))
            .collect();
        let mut found = self.cards.fetch(entries, &authors).await?;

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
        let (read, rows) =
            tokio::try_join!(self.tweets.get_many(&unknown), self.users.rows(strangers))?;
        if let Err(error) =
            tokio::try_join!(self.cards.fill_tweets(&read), self.cards.fill_users(&rows))
        {
            tracing::warn!(error = error.chain(), "cards not cached");
        }

        found.users.extend(
            rows.into_iter()
                .map(|row| (UserId::new(row.user_id), row.into())),
        );
        users.extend(found.users);
        let mut read: HashMap<TweetId, Tweet> =
            read.into_iter().map(|tweet| (tweet.id, tweet)).collect();
        let tweets = entries
            .iter()
            .zip(found.tweets)
            .filter_map(|(entry, lookup)| match lookup {
                Lookup::Found(tweet) => Some(tweet),
                Lookup::Deleted => None,
                Lookup::Unknown => read.remove(&entry.tweet),
            });
        Ok(tweets.collect())
    }

    async fn followees(&self, me: UserId) -> Result<Followees> {
        let following = self.follows.following(me).await?;
        let tiers = tiers_of(&self.users, &self.cards, &following).await?;
        let of_tier = |fits: fn(Tier) -> bool| {
            let fitting = following
                .iter()
                .filter(|author| tiers.get(author).is_some_and(|tier| fits(tier.tier)));
            fitting.copied().collect::<Vec<_>>()
        };
        Ok(Followees {
            pushed: of_tier(Tier::pushes),
            pulled: of_tier(Tier::pulls),
            unsettled: !of_tier(|tier| tier == Tier::Demoting).is_empty(),
        })
    }

    /// Looks up which of the followed authors are pulled, and remembers it.
    async fn find_celebs(&self, me: UserId) -> Result<Vec<UserId>> {
        let token = self.celebs.begin_fill(me).await?;
        let followees = self.followees(me).await?;
        // Who is being demoted is about to be taken out of this set, and may have been already.
        if !followees.unsettled {
            self.celebs
                .finish_fill(me, token, &followees.pulled)
                .await?;
        }
        Ok(followees.pulled)
    }

    /// Fills a missing list from the tables and gives what it holds now. `None` where somebody else is filling it.
    async fn rebuild(&self, me: UserId) -> Result<Option<Source>> {
        let Some(token) = self.timelines.begin_rebuild(me).await? else {
            return Ok(None);
        };
        let read = async {
            // Only now: whatever is posted or followed after this reading lands in the list that was just created.
            let mut authors = self.followees(me).await?.pushed;
            authors.push(me);
            let mut pull = Pull::new(self.tweets.clone(), authors, NEWEST, CAP);
            let entries = pull.take(CAP).await?;
            let floor = if pull.is_exhausted() {
                ALL_KNOWN
            } else {
                entries.last().map_or(ALL_KNOWN, |e| e.tweet)
            };
            Ok(Source { entries, floor })
        };
        let source = match read.await {
            Ok(source) => source,
            Err(error) => {
                self.timelines.release_rebuild(me, token).await?;
                return Err(error);
            }
        };
        let kept = self
            .timelines
            .finish_rebuild(me, token, &source.entries, source.floor == ALL_KNOWN)
            .await?;
        tracing::info!(entries = source.entries.len(), kept, "timeline rebuilt");
        Ok(Some(source))
    }
}

/// Whom somebody follows, by how their tweets arrive. Authors whose tier is flipping are both.
struct Followees {
    pushed: Vec<UserId>,
    pulled: Vec<UserId>,
    /// Is somebody among them being demoted?
    unsettled: bool,
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
}

impl<'a> Walk<'a> {
    async fn begin(
        home: &'a HomeTimelines,
        me: UserId,
        below: Option<TweetId>,
        size: PageSize,
    ) -> Result<Self> {
        // The list is not indexed by id: a page in the middle is found by reading all of it, which is 13 KB.
        let extent = match below {
            None => Extent::Newest(size.get() + LOOK_AHEAD),
            Some(_) => Extent::Whole,
        };
        let below = below.unwrap_or(NEWEST);
        let Opened {
            window,
            unfollowed,
            celebs,
        } = home.timelines.open(me, extent).await?;
        let (list, list_rest) = Self::list(home, me, window, extent).await?;
        let celebs = match celebs {
            Some(celebs) => celebs,
            None => home.find_celebs(me).await?,
        };
        let feeds = home.feeds.newest(&celebs, below).await?;
        let mut walk = Self {
            home,
            me,
            below,
            hidden: unfollowed,
            list,
            list_rest,
            feeds,
            known: VecDeque::new(),
        };
        walk.merge();
        Ok(walk)
    }

    async fn take(&mut self, count: usize) -> Result<Vec<Entry>> {
        while self.known.len() < count && self.floor() > ALL_KNOWN {
            self.read_deeper(count).await?;
            self.merge();
        }
        let taken: Vec<Entry> = self.known.drain(..count.min(self.known.len())).collect();
        self.below = taken.last().map_or(self.below, |entry| entry.tweet);
        Ok(taken)
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

    /// Reads on in every source that stands in the way of `count` entries.
    async fn read_deeper(&mut self, count: usize) -> Result<()> {
        let target = target(self.sources(), self.below, &self.hidden, count);
        let feeds: Vec<(UserId, TweetId)> = self
            .feeds
            .iter()
            .filter(|(_, source)| source.floor > target)
            .map(|(author, source)| (*author, source.floor.min(self.below)))
            .collect();
        for (author, deeper) in self.home.feeds.deeper(&feeds).await? {
            if let Some(source) = self.feeds.get_mut(&author) {
                source.entries.extend(deeper.entries);
                source.floor = deeper.floor;
            }
        }
        if self.list.floor > target {
            self.read_list_deeper(count).await?;
        }
        Ok(())
    }

    async fn read_list_deeper(&mut self, count: usize) -> Result<()> {
        match &mut self.list_rest {
            ListRest::List => {
                let opened = self.home.timelines.open(self.me, Extent::Whole).await?;
                self.hidden.extend(opened.unfollowed);
                (self.list, self.list_rest) =
                    Self::list(self.home, self.me, opened.window, Extent::Whole).await?;
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
                let last = entries
                    .last()
                    .filter(|_| !pull.is_exhausted())
                    .map(|entry| entry.tweet);
                self.list.floor = last.unwrap_or(ALL_KNOWN);
                self.list.entries.extend(entries);
            }
        }
        Ok(())
    }

    /// The list as a source, rebuilt where it is missing.
    async fn list(
        home: &HomeTimelines,
        me: UserId,
        window: Window,
        extent: Extent,
    ) -> Result<(Source, ListRest)> {
        let source = match window {
            Window::Read(source) => {
                let more = matches!(extent, Extent::Newest(count) if source.entries.len() == count);
                return Ok((
                    source,
                    if more {
                        ListRest::List
                    } else {
                        ListRest::Tables
                    },
                ));
            }
            Window::Missing | Window::Building => home.rebuild(me).await?,
        };
        Ok((source.unwrap_or_else(Source::nothing), ListRest::Tables))
    }
}
