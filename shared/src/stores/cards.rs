//! What a page shows besides ids, cached in Redis: tweets (`tweet:{t}`, with the counts of [`super::tweet_stats`]) and user
//! cards (`profile:{u}`, with the counts of [`super::user_counts`]).
//!
//! A deleted tweet leaves a tombstone that names its author. Only a tombstone made by the author counts, so nobody can
//! hide another author's tweet. Fills are `SET NX`, so a late fill cannot bring a deleted tweet back. A deleted account
//! leaves tombstones for a moment, too, so that a late fill does not bring its card back.
//!
//! A repost has a card as well, which says no more than that it stands. It gets a tombstone when it is taken back.
//!
//! A profile can change. Whoever fills its card takes a token before the table is read ([`Cards::begin_fill`]), and
//! whoever changes the profile deletes the token and the card afterwards ([`Cards::forget_users`]). So what was read
//! before a change is never cached after it, even if Redis has lost everything in between.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use redis::{Cmd, Value, cmd};
use serde::{Deserialize, Serialize};

use super::users::UserRow;
use super::{FillToken, TweetStats, UserCounts, keys, tweet_stats, user_counts};
use crate::Result;
use crate::domain::{
    AvatarUrl, Bio, DisplayName, Entry, Handle, Medium, Tweet, TweetId, TweetRef, TweetText, User,
    UserId,
};
use crate::platform::Roost;
use crate::platform::redis::{Batch, Redis, Script};

const TWEET_SECONDS: u64 = 24 * 3600;
/// How long tombstones of an erased account stay: three times what a reader may take.
const ERASED_SECONDS: u64 = 30;
const PROFILE_SECONDS: u64 = 24 * 3600;
/// How long a card stays closed while its profile changes: three times what the request may take.
const CLOSED_SECONDS: u64 = 30;

static FILL: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/card_fill.lua")));

#[derive(Clone)]
pub struct Cards {
    redis: Redis,
    counts: UserCounts,
    stats: TweetStats,
}

/// `tweet:{t}`, unless it is a [`tombstone`].
#[derive(Serialize, Deserialize)]
struct CachedTweet {
    author_id: UserId,
    text: TweetText,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    media: Vec<Medium>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<TweetRef>,
}

/// `tweet:{t}` of a repost that stands. It cannot be read as a tweet.
const REPOST: &str = "repost";

/// What `tweet:{t}` holds when its author deleted it. It is told from a tweet by its first bytes.
fn tombstone(author: UserId) -> String {
    format!("-{author}")
}

/// Where a range ends that holds any tombstone: behind a sign and the digits of an id.
const MARK_END: &[u8] = b"20";

/// What `profile:{u}` holds while nothing may be cached: the account was deleted, or the profile is about to change. It
/// cannot be read as a profile, so readers ask the table.
const CLOSED: &str = "-";

/// `profile:{u}`. What changes often is in [`super::user_counts`] instead.
#[derive(Serialize, Deserialize)]
struct Profile {
    handle: Handle,
    name: DisplayName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bio: Option<Bio>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    avatar_url: Option<AvatarUrl>,
}

/// The right to cache the cards of some users.
#[derive(Debug, Default)]
pub struct CardFills(HashMap<UserId, FillToken>);

/// What the cache knows about one tweet.
#[derive(Clone, Debug)]
pub enum Lookup {
    Found(Tweet),
    Deleted,
    Unknown,
}

impl Lookup {
    /// With the counts that were read along. A tweet whose counts are not cached has to be read from the table.
    fn counted(self, stats: Value) -> Self {
        match (self, tweet_stats::counts(stats)) {
            (Self::Found(tweet), Some(counts)) => Self::Found(Tweet { counts, ..tweet }),
            (Self::Found(_), None) => Self::Unknown,
            (other, _) => other,
        }
    }
}

/// What the cache knows about a repost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Stands,
    TakenBack,
    Unknown,
}

/// What the cache knows about a tweet's author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorship {
    Known(Entry),
    /// Somebody deleted a tweet with this id. It was theirs if the id is not somebody else's.
    Deleted,
    Unknown,
}

/// The cache's answer for one page.
pub struct Found {
    /// In the order of the tweets asked for.
    pub tweets: Vec<Lookup>,
    /// In the order of the reposts asked for.
    pub reposts: Vec<Standing>,
    pub users: HashMap<UserId, User>,
}

impl Found {
    /// What is found if the cache does not answer.
    pub fn nothing(tweets: &[Entry], reposts: &[Entry]) -> Self {
        Self {
            tweets: vec![Lookup::Unknown; tweets.len()],
            reposts: vec![Standing::Unknown; reposts.len()],
            users: HashMap::new(),
        }
    }
}

impl Cards {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
            counts: UserCounts::new(roost)?,
            stats: TweetStats::new(roost)?,
        })
    }

    /// One round trip: these tweets, whether these reposts stand, and the cards of these users.
    pub async fn fetch(
        &self,
        tweets: &[Entry],
        reposts: &[Entry],
        users: &BTreeSet<UserId>,
    ) -> Result<Found> {
        let commands = 2 * (tweets.len() + users.len()) + reposts.len();
        let mut reads = self.redis.batch(commands);
        for entry in tweets {
            ask_tweet(entry.tweet, &mut reads);
        }
        for repost in reposts {
            ask_mark(repost.tweet, &mut reads);
        }
        for user in users {
            reads.add(&[b"GET", keys::profile(*user).as_bytes()]);
            user_counts::ask(*user, &mut reads);
        }
        let mut answers = self.redis.send(reads).await?.into_iter();
        let mut next = || answers.next().unwrap_or(Value::Nil);
        Ok(Found {
            tweets: tweets
                .iter()
                .map(|entry| read_tweet(*entry, &next()).counted(next()))
                .collect(),
            reposts: reposts
                .iter()
                .map(|entry| Standing::read(*entry, &next()))
                .collect(),
            users: users
                .iter()
                .filter_map(|id| Some((*id, read_user(*id, &next(), next())?)))
                .collect(),
        })
    }

    /// One round trip: the tweets with these ids, in their order, whoever wrote them. `None` for what the cache does not
    /// know, or knows as deleted: only the author's own tombstone counts, and here the author is not known.
    pub async fn tweets(&self, ids: &[TweetId]) -> Result<Vec<Option<Tweet>>> {
        let mut reads = self.redis.batch(2 * ids.len());
        for id in ids {
            ask_tweet(*id, &mut reads);
        }
        let mut answers = self.redis.send(reads).await?.into_iter();
        let mut next = || answers.next().unwrap_or(Value::Nil);
        let found = ids.iter().map(|id| {
            let (value, stats) = (next(), next());
            let tweet = parse::<CachedTweet>(&value)?.tweet(*id);
            let counts = tweet_stats::counts(stats)?;
            Some(Tweet { counts, ..tweet })
        });
        Ok(found.collect())
    }

    /// Remembers tweets unless something is known about them already.
    pub async fn fill_tweets(&self, tweets: &[Tweet]) -> Result<()> {
        let counts: Vec<_> = tweets
            .iter()
            .map(|tweet| (tweet.id, tweet.counts))
            .collect();
        self.stats.set(&counts).await?;
        self.redis
            .tell(tweets.iter().map(Self::fill).collect::<Vec<_>>())
            .await
    }

    /// Whose tweet this is, as far as the cache knows.
    pub async fn author_of(&self, tweet: TweetId) -> Result<Authorship> {
        let value: Value = self
            .redis
            .one(cmd("GET").arg(keys::tweet(tweet)).take())
            .await?;
        let cached: Option<CachedTweet> = parse(&value);
        Ok(match (cached, value) {
            (Some(cached), _) => Authorship::Known(cached.tweet(tweet).entry()),
            (None, Value::BulkString(bytes)) if bytes.first() == Some(&b'-') => Authorship::Deleted,
            _ => Authorship::Unknown,
        })
    }

    fn fill(tweet: &Tweet) -> Cmd {
        let cached = CachedTweet {
            author_id: tweet.author_id,
            text: tweet.text.clone(),
            media: tweet.media.clone(),
            in_reply_to: tweet.in_reply_to,
        };
        cmd("SET")
            .arg(keys::tweet(tweet.id))
            .arg(json(&cached))
            .arg("NX")
            .arg("EX")
            .arg(about(TWEET_SECONDS))
            .take()
    }

    /// Remembers that these reposts stand, unless something is known about them already.
    pub async fn fill_reposts(&self, reposts: &[Entry]) -> Result<()> {
        let sets = reposts.iter().map(|repost| {
            cmd("SET")
                .arg(keys::tweet(repost.tweet))
                .arg(REPOST)
                .arg("NX")
                .arg("EX")
                .arg(about(TWEET_SECONDS))
                .take()
        });
        self.redis.tell(sets.collect::<Vec<_>>()).await
    }

    /// One round trip, without any text: which of these tweets and reposts have a tombstone. A repost also counts as buried
    /// if its original is.
    pub async fn buried(&self, entries: &[Entry]) -> Result<HashSet<TweetId>> {
        let both = entries.iter().flat_map(|entry| [*entry, entry.shown()]);
        let plain = both.map(|entry| Entry::new(entry.tweet, entry.author));
        let plain: BTreeSet<Entry> = plain.collect();
        let mut reads = self.redis.batch(plain.len());
        for entry in &plain {
            ask_mark(entry.tweet, &mut reads);
        }
        let marks: Vec<Value> = self.redis.send(reads).await?;
        let buried = plain.into_iter().zip(marks);
        let buried = buried.filter(|(entry, mark)| is_tombstone(*entry, mark));
        let buried: HashSet<TweetId> = buried.map(|(entry, _)| entry.tweet).collect();
        let is_buried = |entry: &&Entry| {
            [entry.tweet, entry.shown().tweet]
                .iter()
                .any(|id| buried.contains(id))
        };
        Ok(entries
            .iter()
            .filter(is_buried)
            .map(|it| it.tweet)
            .collect())
    }

    /// From now on no reader shows this tweet.
    pub async fn bury(&self, entry: Entry) -> Result<()> {
        self.bury_for(&[entry], TWEET_SECONDS).await
    }

    /// Like [`Self::bury`], only if the tweet is cached. Leaves no key behind for a tweet that never was.
    pub async fn bury_if_cached(&self, entry: Entry) -> Result<()> {
        let cached: Value = self
            .redis
            .one(cmd("GET").arg(keys::tweet(entry.tweet)).take())
            .await?;
        match read_tweet(entry, &cached) {
            Lookup::Found(_) => self.bury(entry).await,
            Lookup::Deleted | Lookup::Unknown => Ok(()),
        }
    }

    /// Like [`Self::bury`], for tweets that are deleted together with their author. Such a tombstone only has to outlive
    /// the readers that read the tweet before it was deleted and are about to cache it.
    pub async fn bury_briefly(&self, entries: &[Entry]) -> Result<()> {
        self.bury_for(entries, ERASED_SECONDS).await
    }

    async fn bury_for(&self, entries: &[Entry], seconds: u64) -> Result<()> {
        let sets = entries.iter().map(|entry| {
            cmd("SET")
                .arg(keys::tweet(entry.tweet))
                .arg(tombstone(entry.author))
                .arg("EX")
                .arg(seconds)
                .take()
        });
        self.redis.tell(sets.collect::<Vec<_>>()).await
    }

    /// Forgets what is cached of these tweets, tombstones too: the table knows.
    pub async fn forget_tweets(&self, tweets: &[TweetId]) -> Result<()> {
        let deletes = tweets
            .iter()
            .map(|tweet| cmd("DEL").arg(keys::tweet(*tweet)).take());
        self.redis.tell(deletes.collect::<Vec<_>>()).await
    }

    /// Forgets everything that is kept under the ids of these tweets, except the tweets themselves.
    pub async fn forget_beside(&self, tweets: &[TweetId]) -> Result<()> {
        let deletes = tweets
            .iter()
            .map(|tweet| cmd("DEL").arg(keys::of_tweet(*tweet)).take());
        self.redis.tell(deletes.collect::<Vec<_>>()).await
    }

    /// Forgets everything that is kept under a deleted user's id. Readers that read the profile before it was deleted
    /// do not bring the card back.
    pub async fn bury_user(&self, user: UserId) -> Result<()> {
        let delete = cmd("DEL").arg(keys::of_user(user)).take();
        let profile = close(user, ERASED_SECONDS);
        let counts = user_counts::bury(user, ERASED_SECONDS);
        self.redis
            .tell([delete, profile].into_iter().chain(counts))
            .await
    }

    /// The profile is about to change: readers ask the table until it has changed ([`Self::forget_users`]), or for a
    /// moment if that is never said.
    pub async fn close(&self, user: UserId) -> Result<()> {
        self.redis.tell([close(user, CLOSED_SECONDS)]).await
    }

    /// These profiles have changed: what is cached of them goes, and what was read before is not cached any more.
    pub async fn forget_users(&self, users: &[UserId]) -> Result<()> {
        let deletes = users.iter().map(|user| {
            cmd("DEL")
                .arg(keys::profile(*user))
                .arg(keys::profile_fill(*user))
                .take()
        });
        self.redis.tell(deletes.collect::<Vec<_>>()).await
    }

    /// Call before reading the table for [`Self::fill_users`].
    pub async fn begin_fill(&self, users: &[UserId]) -> Result<CardFills> {
        let keys = users.iter().map(|user| keys::profile_fill(*user)).collect();
        let tokens = FillToken::take_each(&self.redis, keys).await?;
        let taken = users.iter().zip(tokens);
        let taken = taken.filter_map(|(user, token)| Some((*user, token?)));
        Ok(CardFills(taken.collect()))
    }

    /// Remembers users, unless something is known about them already or they have changed since `fills` were taken.
    pub async fn fill_users(&self, rows: &[UserRow], fills: &CardFills) -> Result<()> {
        let calls = rows.iter().filter_map(|row| {
            let (user, token) = (row.id(), fills.0.get(&row.id())?);
            let profile = Profile {
                handle: row.handle.clone(),
                name: row.name.clone(),
                bio: row.bio.clone(),
                avatar_url: row.avatar_url.clone(),
            };
            let arguments = [
                token.to_string(),
                about(PROFILE_SECONDS).to_string(),
                json(&profile),
            ];
            Some((
                vec![keys::profile(user), keys::profile_fill(user)],
                arguments.map(String::into_bytes).to_vec(),
            ))
        });
        self.redis
            .tell_script(&FILL, calls.collect::<Vec<_>>())
            .await?;
        self.counts.set(rows).await
    }
}

/// The command after which `profile:{u}` holds nothing that can be read, for so many seconds.
fn close(user: UserId, seconds: u64) -> Cmd {
    cmd("SET")
        .arg(keys::profile(user))
        .arg(CLOSED)
        .arg("EX")
        .arg(seconds)
        .take()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Up to a tenth less: what was cached at once, after a cache was lost, does not expire at once.
fn about(seconds: u64) -> u64 {
    seconds - fastrand::u64(..seconds / 10)
}

impl CachedTweet {
    fn tweet(self, id: TweetId) -> Tweet {
        Tweet::new(id, self.author_id, self.text)
            .with_media(self.media)
            .replying_to(self.in_reply_to)
    }
}

/// Asks for a tweet and its counts.
fn ask_tweet(tweet: TweetId, reads: &mut Batch) {
    reads.add(&[b"GET", keys::tweet(tweet).as_bytes()]);
    tweet_stats::ask(tweet, reads);
}

/// Asks for enough of `tweet:{t}` to know a tombstone.
fn ask_mark(tweet: TweetId, reads: &mut Batch) {
    reads.add(&[b"GETRANGE", keys::tweet(tweet).as_bytes(), b"0", MARK_END]);
}

fn is_tombstone(entry: Entry, value: &Value) -> bool {
    let Value::BulkString(bytes) = value else {
        return false;
    };
    bytes.first() == Some(&b'-') && *bytes == tombstone(entry.author).into_bytes()
}

impl Standing {
    fn read(repost: Entry, mark: &Value) -> Self {
        match mark {
            _ if is_tombstone(repost, mark) => Self::TakenBack,
            Value::BulkString(bytes) if bytes == REPOST.as_bytes() => Self::Stands,
            _ => Self::Unknown,
        }
    }
}

/// What cannot be read counts as unknown: the tables know better.
fn read_tweet(entry: Entry, value: &Value) -> Lookup {
    if is_tombstone(entry, value) {
        return Lookup::Deleted;
    }
    match parse::<CachedTweet>(value) {
        Some(cached) if cached.author_id == entry.author => {
            Lookup::Found(cached.tweet(entry.tweet))
        }
        _ => Lookup::Unknown,
    }
}

fn read_user(id: UserId, profile: &Value, counts: Value) -> Option<User> {
    let profile: Profile = parse(profile)?;
    let counts = user_counts::shown(counts)?;
    Some(User {
        id,
        handle: profile.handle,
        name: profile.name,
        bio: profile.bio,
        avatar_url: profile.avatar_url,
        created_at: id.created_at(),
        follower_count: counts.follower_count,
        following_count: counts.following_count,
        is_celebrity: counts.is_celebrity,
    })
}

fn parse<T: for<'de> Deserialize<'de>>(value: &Value) -> Option<T> {
    let Value::BulkString(bytes) = value else {
        return None;
    };
    serde_json::from_slice(bytes).ok()
}
