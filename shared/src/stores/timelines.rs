//! Home timelines in Redis: `home_timeline:{u}` and what hangs on it.
//!
//! A timeline exists exactly while its user is active: reading renews it, pushing writes only if it exists, and a
//! missing one is rebuilt on the next read. An entry that was on its way when its author was unfollowed may still arrive;
//! [`super::hidden`] keeps it from readers.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Duration;

use futures_util::future::try_join_all;
use redis::{Cmd, Value, cmd};
use tokio::task::yield_now;

use super::hidden::{self, HiddenAuthors};
use super::{celebs, excluded, keys};
use crate::domain::timeline::{self, Filling, ListEnd, SLACK, Window};
use crate::domain::{Entry, TweetId, UserId};
use crate::platform::redis::{Redis, Script, ScriptCall, read};
use crate::platform::{Roost, metrics, now_millis};
use crate::{Error, Result};

/// Pushes in one pipeline. Several pipelines are under way at once, so that Redis works while we write the next.
const PIPELINE: usize = 1_000;

/// Lists in one pipeline that an author is taken out of. Redis looks through each of them.
const SEARCHED: usize = 250;

/// Lists that one pipeline fills. Filling one takes Redis a millisecond or two, and readers wait in between.
const FILLED: usize = 10;

/// How long a reader's rebuild may take before another reader may try.
const REBUILD_LOCK: Duration = Duration::from_secs(10);

static BEGIN_REBUILD: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/begin_rebuild.lua")));
static INSERT: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/entry.lua"),
        include_str!("scripts/insert.lua")
    ))
});
static MERGE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/entry.lua"),
        include_str!("scripts/merge.lua")
    ))
});
static TRIM: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/entry.lua"),
        include_str!("scripts/trim.lua")
    ))
});
static REMOVE_AUTHOR: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/entry.lua"),
        include_str!("scripts/remove_author.lua")
    ))
});
static RELEASE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/release.lua")));

#[derive(Clone)]
pub struct Timelines {
    redis: Redis,
    ttl_seconds: u64,
    /// How many entries a list keeps.
    cap: usize,
    /// `true` if reading a list gives it a new lease of life.
    renews: bool,
}

/// What a reader finds on its own shard.
pub struct Opened {
    pub window: Window,
    /// Authors that were unfollowed and must not be shown.
    pub hidden: HiddenAuthors,
    /// Authors that must not be shown because of what the user decided; `None` if that is not cached.
    pub excluded: Option<HashSet<UserId>>,
    /// Followed authors who are pulled; `None` if that is not cached.
    pub celebs: Option<Vec<UserId>>,
    /// The newest tweet that was read, 0 if none was; `None` if that is not cached.
    pub last_read: Option<TweetId>,
}

/// The right to rebuild one list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebuildToken(u64);

/// What is still to be done for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// There is no list, or it is as full as it can be.
    Nothing,
    /// All of it: the rebuild has begun and has not finished.
    Whole,
    /// What is below the filling's floor, with room for so many entries.
    Rest { filling: Filling, room: usize },
}

/// How much of a list a reader wants to see.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    Newest(usize),
    Whole,
}

impl Timelines {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
            ttl_seconds: roost.config.timeline_ttl_seconds()?,
            cap: roost.config.timeline_cap()?,
            renews: true,
        })
    }

    /// How many entries a list keeps.
    pub const fn cap(&self) -> usize {
        self.cap
    }

    /// One more than a list keeps: so many of one author fill a list and push its end out, as they should.
    pub const fn backfill_size(&self) -> usize {
        self.cap + 1
    }

    /// For reads on behalf of another user: does not renew the list.
    pub fn without_renewal(self) -> Self {
        Self {
            renews: false,
            ..self
        }
    }

    /// One round trip: the head of the list, the authors to hide, the authors to pull, how far the user has read, and a new
    /// lease of life for the list, the unfollowed authors and the authors to pull.
    pub async fn open(&self, user: UserId, extent: Extent) -> Result<Opened> {
        let last = match extent {
            Extent::Newest(count) => i64::try_from(count).unwrap_or(i64::MAX) - 1,
            Extent::Whole => -1,
        };
        let list = keys::home_timeline(user);
        let mut commands = vec![
            // The end first: a list that is filled in between is then taken for less whole than it is, not for more.
            last_entry(user),
            cmd("LRANGE").arg(&list).arg(0).arg(last).take(),
            hidden::read_all(user),
            cmd("SMEMBERS").arg(keys::my_celebs(user)).take(),
            cmd("HGET")
                .arg(keys::marker(user))
                .arg("last_read_id")
                .take(),
            excluded::read_all(user),
        ];
        if self.renews {
            let keys = [list, keys::hidden(user), keys::my_celebs(user)];
            commands.extend(keys.map(|key| self.renew(key)));
        }
        let answers: Vec<Value> = self
            .redis
            .run(commands)
            .await
            .inspect_err(|_| metrics::CACHE_MISSES.add(1))?;
        let mut answers = answers.into_iter();
        let mut next = || answers.next().unwrap_or(Value::Nil);
        let end: Option<Vec<u8>> = read(next())?;
        let entries: Vec<Vec<u8>> = read(next())?;
        let hidden: Vec<(Vec<u8>, f64)> = read(next())?;
        let window = Window::new(decode(&entries)?, decode(end.as_slice())?.pop());
        match window {
            Window::Read(_) => metrics::CACHE_HITS.add(1),
            Window::Missing | Window::Building => metrics::CACHE_MISSES.add(1),
        }
        Ok(Opened {
            window,
            hidden: HiddenAuthors::new(&hidden, now_millis()),
            celebs: celebs::decode(read(next())?),
            last_read: read::<Option<u64>>(next())?.map(TweetId::new),
            excluded: excluded::decode(read(next())?),
        })
    }

    /// Delivers one entry to the lists that exist among these users' and says how many those are.
    ///
    /// A young tweet is pushed to the head; a late one is inserted in order, which readers rely on. `now_millis` is by
    /// our own clock.
    pub async fn deliver(&self, entry: Entry, users: &[UserId], now_millis: u64) -> Result<usize> {
        let now_millis = self.redis.shared_time(now_millis).await;
        let at_the_head = timeline::goes_to_the_head(entry.tweet, now_millis);
        let chunks = users.chunks(PIPELINE).enumerate();
        let deliveries = chunks.map(|(turn, users)| async move {
            // The connection writes a pipeline when we wait. So that Redis need not wait for the last one to be made, each
            // waits its turn, and the connection has one after every pipeline.
            for _ in 0..turn {
                yield_now().await;
            }
            if at_the_head {
                self.push(entry, users).await
            } else {
                self.insert(entry, users).await
            }
        });
        Ok(try_join_all(deliveries).await?.into_iter().sum())
    }

    async fn push(&self, entry: Entry, users: &[UserId]) -> Result<usize> {
        let entry = entry.to_bytes();
        let mut pushes = self.redis.batch(users.len());
        let mut key = String::new();
        for user in users {
            key.clear();
            keys::write_home_timeline(*user, &mut key);
            pushes.add(&[b"LPUSHX", key.as_bytes(), &entry]);
        }
        let lengths: Vec<usize> = self.redis.send(pushes).await?;
        let overgrown = users
            .iter()
            .zip(&lengths)
            .filter(|(_, length)| **length > self.cap + SLACK);
        let trims = overgrown.map(|(user, _)| {
            (
                vec![keys::home_timeline(*user)],
                vec![self.cap.to_string().into_bytes()],
            )
        });
        self.redis
            .tell_script(&TRIM, trims.collect::<Vec<_>>())
            .await?;
        Ok(lengths.into_iter().filter(|length| *length > 0).count())
    }

    /// Like a delivery, but in order and at most once, whatever the tweet's age.
    pub async fn insert(&self, entry: Entry, users: &[UserId]) -> Result<usize> {
        let calls = users.iter().map(|user| {
            let numbers = [self.cap, SLACK].map(|number| number.to_string().into_bytes());
            (
                vec![keys::home_timeline(*user), keys::hidden(*user)],
                [vec![entry.to_bytes()], numbers.to_vec()].concat(),
            )
        });
        let inserted: Vec<usize> = self.redis.run_script(&INSERT, calls).await?;
        Ok(inserted.into_iter().sum())
    }

    /// Takes the right to rebuild the list, and creates it so that whatever is posted from now on lands in it.
    /// `None` if somebody else is doing it, or has just finished.
    pub async fn begin_rebuild(&self, user: UserId) -> Result<Option<RebuildToken>> {
        self.begin_rebuild_within(user, REBUILD_LOCK).await
    }

    /// Like [`Self::begin_rebuild`], for a rebuild that may take this long.
    pub async fn begin_rebuild_within(
        &self,
        user: UserId,
        limit: Duration,
    ) -> Result<Option<RebuildToken>> {
        let token = RebuildToken(fastrand::u64(1..u64::MAX / 2));
        let milliseconds = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let keys = vec![keys::home_timeline(user), keys::rebuild(user)];
        let arguments = vec![
            token.0.to_string().into_bytes(),
            milliseconds.to_string().into_bytes(),
            ListEnd::Building(token.0).to_entry().to_bytes(),
            self.ttl_seconds.to_string().into_bytes(),
        ];
        let begun: Vec<bool> = self
            .redis
            .run_script(&BEGIN_REBUILD, [(keys, arguments)])
            .await?;
        Ok((begun == [true]).then_some(token))
    }

    /// Fills the list with what was read from the tables since [`Self::begin_rebuild`]. `bottom` says that the tables
    /// hold nothing older. `false` if the list was lost in between, so that nothing was
    /// stored.
    pub async fn finish_rebuild(
        &self,
        user: UserId,
        token: RebuildToken,
        entries: &[Entry],
        bottom: bool,
    ) -> Result<bool> {
        let ends = (ListEnd::Building(token.0), ListEnd::of(entries, bottom));
        let done = self.merge(user, Some(ends), entries).await?;
        self.release_rebuild(user, token).await?;
        Ok(done)
    }

    /// Like [`Self::finish_rebuild`] with the newest entries only; the rest is left to [`Self::finish_fill`].
    pub async fn finish_first_page(
        &self,
        user: UserId,
        token: RebuildToken,
        entries: &[Entry],
    ) -> Result<bool> {
        let end = entries.last().map_or(ListEnd::Bottom, |lowest| {
            ListEnd::Filling(Filling::below(lowest.tweet, fastrand::u64(..)))
        });
        let ends = (ListEnd::Building(token.0), end);
        let done = self.merge(user, Some(ends), entries).await?;
        self.release_rebuild(user, token).await?;
        Ok(done)
    }

    /// How far a list is that somebody has begun to rebuild.
    pub async fn unfinished(&self, user: UserId) -> Result<Unfinished> {
        let length = cmd("LLEN").arg(keys::home_timeline(user)).take();
        let answers: Vec<Value> = self.redis.run([last_entry(user), length]).await?;
        let [last, length] = answers.as_slice() else {
            return Ok(Unfinished::Nothing);
        };
        let last: Option<Vec<u8>> = read(last.clone())?;
        let length: usize = read(length.clone())?;
        let end = decode(last.as_slice())?.pop();
        Ok(match end.and_then(ListEnd::from_entry) {
            Some(ListEnd::Building(_)) => Unfinished::Whole,
            Some(ListEnd::Filling(filling)) => Unfinished::Rest {
                filling,
                room: self.cap.saturating_sub(length.saturating_sub(1)).max(1),
            },
            Some(ListEnd::Bottom | ListEnd::Cut(_)) | None => Unfinished::Nothing,
        })
    }

    /// Adds what was read from the tables below the filling's floor. `bottom` says that the tables hold nothing older.
    /// `false` if somebody else has done it, or the list was lost in between.
    pub async fn finish_fill(
        &self,
        user: UserId,
        filling: Filling,
        entries: &[Entry],
        bottom: bool,
    ) -> Result<bool> {
        let ends = (ListEnd::Filling(filling), ListEnd::of(entries, bottom));
        self.merge(user, Some(ends), entries).await
    }

    /// Gives the right to rebuild back, so that the next reader need not wait for it to run out.
    pub async fn release_rebuild(&self, user: UserId, token: RebuildToken) -> Result<()> {
        let call = (
            vec![keys::rebuild(user)],
            vec![token.0.to_string().into_bytes()],
        );
        self.redis.tell_script(&RELEASE, [call]).await
    }

    /// The id above which a list has room for an author's tweets, or `None` if there is no list.
    pub async fn depth(&self, user: UserId) -> Result<Option<TweetId>> {
        let last: Option<Vec<u8>> = self.redis.one(last_entry(user)).await?;
        depth(&last)
    }

    /// Those of these users who have a list.
    pub async fn active(&self, users: &[UserId]) -> Result<Vec<UserId>> {
        let reads = users
            .iter()
            .map(|user| cmd("EXISTS").arg(keys::home_timeline(*user)).take());
        let exist: Vec<bool> = self.redis.run(reads.collect::<Vec<_>>()).await?;
        Ok(users
            .iter()
            .zip(exist)
            .filter(|(_, exists)| *exists)
            .map(|(user, _)| *user)
            .collect())
    }

    /// Those of these users for whom something is cached, or about to be, that depends on the people they follow.
    pub async fn cached(&self, users: &[UserId]) -> Result<HashSet<UserId>> {
        let reads = users.iter().map(|user| {
            let keys = [
                keys::home_timeline,
                keys::hidden,
                keys::my_celebs,
                keys::my_celebs_fill,
            ];
            cmd("EXISTS")
                .arg(keys.map(|key| key(*user)).to_vec())
                .take()
        });
        let found: Vec<usize> = self.redis.run(reads.collect::<Vec<_>>()).await?;
        Ok(users
            .iter()
            .zip(found)
            .filter(|(_, found)| *found > 0)
            .map(|(user, _)| *user)
            .collect())
    }

    /// Merges a followed author's recent tweets into a list that exists.
    ///
    /// `entries` are the author's newest; [`Self::backfill_size`] of them are enough, whatever else is in the list.
    pub async fn backfill(&self, user: UserId, entries: &[Entry]) -> Result<()> {
        self.merge(user, None, entries).await.map(drop)
    }

    /// Like [`Self::backfill`], for those of these users who have a list. What is too old for a list is not sent.
    pub async fn backfill_each(&self, users: &[UserId], entries: &[Entry]) -> Result<()> {
        let reads = users.iter().map(|user| last_entry(*user));
        let ends: Vec<Option<Vec<u8>>> = self.redis.run(reads).await?;
        let mut lists = Vec::new();
        for (user, end) in users.iter().zip(ends) {
            let depth = depth(&end)?;
            lists.extend(depth.map(|depth| (*user, depth)));
        }
        for lists in lists.chunks(FILLED) {
            let calls = lists.iter().filter_map(|(user, depth)| {
                let fitting = entries.iter().filter(|entry| entry.tweet > *depth);
                let mut fitting = fitting.peekable();
                fitting.peek()?;
                Some(self.merging(*user, None, fitting))
            });
            let calls: Vec<ScriptCall> = calls.collect();
            self.redis.tell_script(&MERGE, calls).await?;
        }
        Ok(())
    }

    /// Merges into a list. If ends are given, the list must end with the first, and ends with the second then.
    async fn merge(
        &self,
        user: UserId,
        ends: Option<(ListEnd, ListEnd)>,
        entries: &[Entry],
    ) -> Result<bool> {
        let call = self.merging(user, ends, entries);
        let changed: Vec<bool> = self.redis.run_script(&MERGE, [call]).await?;
        Ok(changed == [true])
    }

    fn merging<'a>(
        &self,
        user: UserId,
        ends: Option<(ListEnd, ListEnd)>,
        entries: impl IntoIterator<Item = &'a Entry>,
    ) -> ScriptCall {
        let [from, to] = ends.map_or_else(Default::default, |(from, to)| {
            [from, to].map(|end| end.to_entry().to_bytes())
        });
        let mut arguments = vec![from, self.cap.to_string().into_bytes(), to];
        arguments.extend(entries.into_iter().map(|entry| entry.to_bytes()));
        (
            vec![keys::home_timeline(user), keys::hidden(user)],
            arguments,
        )
    }

    pub async fn remove_author(&self, user: UserId, author: UserId) -> Result<()> {
        self.remove_author_from(&[user], author).await
    }

    /// Is something of this author cached for the user?
    pub async fn has_author(&self, user: UserId, author: UserId) -> Result<bool> {
        let reads = [
            cmd("LRANGE")
                .arg(keys::home_timeline(user))
                .arg(0)
                .arg(-1)
                .take(),
            cmd("SMEMBERS").arg(keys::my_celebs(user)).take(),
        ];
        let answers: Vec<Value> = self.redis.run(reads).await?;
        let [entries, celebs] = answers.as_slice() else {
            return Ok(false);
        };
        let entries: Vec<Vec<u8>> = read(entries.clone())?;
        let celebs = celebs::decode(read(celebs.clone())?).unwrap_or_default();
        let entries = decode(&entries)?;
        let in_list = entries
            .iter()
            .any(|entry| ListEnd::from_entry(*entry).is_none() && entry.author == author);
        Ok(in_list || celebs.contains(&author))
    }

    /// Takes an author out of these users' lists.
    pub async fn remove_author_from(&self, users: &[UserId], author: UserId) -> Result<()> {
        let author = author.get().to_be_bytes().to_vec();
        for users in users.chunks(SEARCHED) {
            let calls = users
                .iter()
                .map(|user| (vec![keys::home_timeline(*user)], vec![author.clone()]));
            self.redis.tell_script(&REMOVE_AUTHOR, calls).await?;
        }
        Ok(())
    }

    /// Forgets what is cached of what a user is shown. The next reader makes it anew. Hidden authors stay hidden: an
    /// entry of theirs may still be on its way.
    pub async fn forget(&self, user: UserId) -> Result<()> {
        let keys = [
            keys::home_timeline,
            keys::excluded,
            keys::my_celebs,
            keys::my_celebs_fill,
            keys::rebuild,
        ];
        let delete = cmd("DEL").arg(keys.map(|key| key(user)).to_vec()).take();
        self.redis.tell([delete]).await
    }

    fn renew(&self, key: String) -> Cmd {
        cmd("EXPIRE").arg(key).arg(self.ttl_seconds).take()
    }
}

fn last_entry(user: UserId) -> Cmd {
    cmd("LINDEX").arg(keys::home_timeline(user)).arg(-1).take()
}

/// The id above which a list with this end has room for an author's tweets, or `None` if there is no list.
fn depth(last: &Option<Vec<u8>>) -> Result<Option<TweetId>> {
    let last = decode(last.as_slice())?.pop();
    Ok(last.map(|last| match ListEnd::from_entry(last) {
        Some(ListEnd::Cut(highest)) => highest,
        _ => last.tweet,
    }))
}

fn decode(entries: &[Vec<u8>]) -> Result<Vec<Entry>> {
    entries
        .iter()
        .map(|bytes| {
            Entry::from_bytes(bytes).ok_or_else(|| {
                Error::unreadable("a timeline entry")(format!("{} bytes", bytes.len()))
            })
        })
        .collect()
}
