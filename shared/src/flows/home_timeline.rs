//! Reading a home timeline.
//!
//! A [`Walk`] gives entries newest first and goes to a deeper source whenever one has no more above its floor: first
//! the head of the cached list, then all of the list, then the tables. A list that is missing is rebuilt on the way.
//! [`HomeTimelines::page`] takes entries from the walk until the page is full of tweets that still exist.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use super::pull::Pull;
use crate::Result;
use crate::domain::timeline::{ALL_KNOWN, CAP, Source, Window, merge};
use crate::domain::{Entry, PageSize, Tweet, TweetId, User, UserId};
use crate::stores::cards::Lookup;
use crate::stores::timelines::Extent;
use crate::stores::tweets::NEWEST;
use crate::stores::{Cards, Follows, Timelines, Tweets, Users};

/// Entries read beyond a page's size, so that the page usually lies above the window's floor.
const LOOK_AHEAD: usize = 80;

pub struct HomeTimelines {
    pub timelines: Timelines,
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

    /// Everybody whose tweets the user sees, themselves included.
    async fn authors(&self, me: UserId) -> Result<Vec<UserId>> {
        let mut authors = self.follows.following(me).await?;
        authors.push(me);
        Ok(authors)
    }

    /// Fills a missing list from the tables and gives what it holds now. `None` where somebody else is filling it.
    async fn rebuild(&self, me: UserId) -> Result<Option<Source>> {
        let Some(token) = self.timelines.begin_rebuild(me).await? else {
            return Ok(None);
        };
        let read = async {
            // Only now: whatever is posted or followed after this reading lands in the list that was just created.
            let mut pull = Pull::new(self.tweets.clone(), self.authors(me).await?, NEWEST, CAP);
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
                self.timelines.release_rebuild(me).await?;
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

/// The next deeper place to read from.
enum Deeper {
    WholeList,
    Tables,
    Pull(Pull),
    Nothing,
}

struct Walk<'a> {
    home: &'a HomeTimelines,
    me: UserId,
    /// What is taken next lies below this id.
    below: TweetId,
    hidden: HashSet<UserId>,
    /// Read, trusted and not taken yet; newest first.
    known: VecDeque<Entry>,
    deeper: Deeper,
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
        let deeper = Deeper::Nothing;
        let mut walk = Self {
            home,
            me,
            below: below.unwrap_or(NEWEST),
            hidden: HashSet::new(),
            known: VecDeque::new(),
            deeper,
        };
        walk.open(extent).await?;
        Ok(walk)
    }

    async fn take(&mut self, count: usize) -> Result<Vec<Entry>> {
        while self.known.len() < count {
            match &mut self.deeper {
                Deeper::Nothing => break,
                Deeper::WholeList => self.open(Extent::Whole).await?,
                Deeper::Tables => {
                    let authors = self.home.authors(self.me).await?;
                    let below = self.known.back().map_or(self.below, |entry| entry.tweet);
                    self.deeper =
                        Deeper::Pull(Pull::new(self.home.tweets.clone(), authors, below, count));
                }
                Deeper::Pull(pull) => {
                    let entries = pull.take(count).await?;
                    if entries.len() < count {
                        self.deeper = Deeper::Nothing;
                    }
                    self.known.extend(
                        entries
                            .into_iter()
                            .filter(|entry| !self.hidden.contains(&entry.author)),
                    );
                }
            }
        }
        let taken: Vec<Entry> = self.known.drain(..count.min(self.known.len())).collect();
        self.below = taken.last().map_or(self.below, |entry| entry.tweet);
        Ok(taken)
    }

    fn has_more(&self) -> bool {
        let deeper = match &self.deeper {
            Deeper::Nothing => false,
            Deeper::Pull(pull) => !pull.is_exhausted(),
            Deeper::WholeList | Deeper::Tables => true,
        };
        deeper || !self.known.is_empty()
    }

    /// Reads the cached list, or rebuilds it.
    async fn open(&mut self, extent: Extent) -> Result<()> {
        let opened = self.home.timelines.open(self.me, extent).await?;
        self.hidden = opened.unfollowed;
        let (source, next) = match opened.window {
            Window::Read(source) => {
                let all = !matches!(extent, Extent::Newest(count) if source.entries.len() == count);
                (
                    Some(source),
                    if all {
                        Deeper::Tables
                    } else {
                        Deeper::WholeList
                    },
                )
            }
            Window::Missing | Window::Building => {
                (self.home.rebuild(self.me).await?, Deeper::Tables)
            }
        };
        match source {
            Some(source) => {
                self.deeper = if source.floor == ALL_KNOWN {
                    Deeper::Nothing
                } else {
                    next
                };
                self.known = merge(&[source], self.below, &self.hidden).entries.into();
            }
            None => {
                self.known.clear();
                self.deeper = Deeper::Tables;
            }
        }
        Ok(())
    }
}
