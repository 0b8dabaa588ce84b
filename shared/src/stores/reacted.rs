//! Which tweets a user has reacted to, as far as Redis knows: the hash `reacted:{u}`.
//!
//! It knows everything down to a floor for each kind of reaction (fields `l`, `r` and `h`); below, the table has to be
//! asked. A field `l<tweet>`, `r<tweet>` or `h<tweet>` holds the reaction's version, and whether it stands. Two write it: whoever reacts, if the
//! hash exists, and the reader who finds it missing. An older version never replaces a newer one.
//!
//! It is bounded: a user can react to any number of tweets, and the hash keeps the newest thousand of each kind.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use redis::cmd;

use super::{FillToken, keys};
use crate::Result;
use crate::domain::{Reaction, ReactionState, SeenTweet, Tweet, TweetId, UserId};
use crate::platform::Roost;
use crate::platform::redis::{Redis, Script};

/// The most reactions of one kind that are filled. Half as many again are kept before the oldest are dropped.
pub const MOST: usize = 1_000;

/// Not renewed: a reaction that was taken back is remembered by the table for two days.
const SECONDS: u64 = 24 * 3600;

static EDIT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/reacted_edit.lua")));
static FILL: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/reacted_fill.lua")));

#[derive(Clone)]
pub struct Reacted {
    redis: Redis,
}

/// What a user thinks of some tweets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub liked: HashSet<TweetId>,
    pub reposted: HashSet<TweetId>,
    pub hidden: HashSet<TweetId>,
}

/// What the cache knows of them.
#[derive(Debug, PartialEq, Eq)]
pub enum Known {
    /// There is no hash.
    Nothing,
    /// The marks, and the tweets that lie below the floor of a kind.
    Marks { marks: Marks, unknown: Vec<TweetId> },
}

impl Marks {
    pub fn note(&mut self, state: ReactionState) {
        let marked = match state.reaction {
            Reaction::Like => &mut self.liked,
            Reaction::Repost => &mut self.reposted,
            Reaction::Hide => &mut self.hidden,
            Reaction::Reply => return,
        };
        if state.stands {
            marked.insert(state.tweet);
        } else {
            marked.remove(&state.tweet);
        }
    }

    /// The tweet as this user sees it.
    pub fn see(&self, tweet: Tweet) -> SeenTweet {
        SeenTweet {
            liked: self.liked.contains(&tweet.id),
            reposted: self.reposted.contains(&tweet.id),
            tweet,
        }
    }

    pub fn extend(&mut self, other: Self) {
        self.liked.extend(other.liked);
        self.reposted.extend(other.reposted);
        self.hidden.extend(other.hidden);
    }
}

const KINDS: [Reaction; 3] = Reaction::MARKS;

const fn letter(reaction: Reaction) -> &'static str {
    match reaction {
        Reaction::Like => "l",
        Reaction::Repost => "r",
        Reaction::Hide => "h",
        Reaction::Reply => "a",
    }
}

fn field(reaction: Reaction, tweet: TweetId) -> String {
    format!("{}{tweet}", letter(reaction))
}

/// The version, and in the lowest bit whether it stands.
fn value(state: ReactionState) -> u64 {
    state.version << 1 | u64::from(state.stands)
}

impl Reacted {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// One round trip: what the user thinks of these tweets.
    pub async fn to_tweets(&self, user: UserId, tweets: &[TweetId]) -> Result<Known> {
        let asked = KINDS.map(|kind| tweets.iter().map(move |tweet| field(kind, *tweet)));
        let fields: Vec<String> = asked.into_iter().flatten().collect();
        let key = keys::reacted(user);
        let floors = KINDS.map(|kind| letter(kind).as_bytes());
        let words = [b"HMGET", key.as_bytes()].into_iter().chain(floors);
        let words: Vec<&[u8]> = words.chain(fields.iter().map(String::as_bytes)).collect();
        let mut read = self.redis.batch(1);
        read.add(&words);
        let answer: Vec<Vec<Option<u64>>> = self.redis.send(read).await?;
        Ok(Known::read(tweets, &answer.concat()))
    }

    /// Notes that a reaction was made or taken back.
    pub async fn note(&self, user: UserId, state: ReactionState) -> Result<()> {
        let arguments = [
            letter(state.reaction).to_owned(),
            state.tweet.to_string(),
            value(state).to_string(),
            MOST.to_string(),
        ];
        let arguments = arguments.map(String::into_bytes).to_vec();
        let keys = [Self::keys(user), vec![keys::deeds(user)]].concat();
        self.redis.tell_script(&EDIT, [(keys, arguments)]).await
    }

    /// Call before reading the table for [`Self::finish_fill`].
    pub async fn begin_fill(&self, user: UserId) -> Result<FillToken> {
        FillToken::seize(&self.redis, keys::reacted_fill(user)).await
    }

    /// Stores the newest reactions of every kind, up to [`MOST`] of each.
    pub async fn finish_fill(
        &self,
        user: UserId,
        token: FillToken,
        newest: &[ReactionState],
    ) -> Result<()> {
        let mut fields: HashMap<String, u64> = HashMap::new();
        for kind in KINDS {
            let of_kind = || newest.iter().filter(|state| state.reaction == kind);
            let lowest = of_kind().map(|state| state.tweet.get()).min();
            let floor = lowest.filter(|_| of_kind().count() >= MOST).unwrap_or(0);
            fields.insert(letter(kind).to_owned(), floor);
            fields.extend(of_kind().map(|state| (field(kind, state.tweet), value(*state))));
        }
        let mut arguments = vec![token.to_string(), SECONDS.to_string()];
        let fields = fields.into_iter();
        arguments.extend(fields.flat_map(|(name, value)| [name, value.to_string()]));
        let arguments = arguments.into_iter().map(String::into_bytes).collect();
        self.redis
            .tell_script(&FILL, [(Self::keys(user), arguments)])
            .await
    }

    /// Forgets what is known of a user. The table knows it.
    pub async fn forget(&self, user: UserId) -> Result<()> {
        let delete = cmd("DEL").arg(Self::keys(user)).take();
        self.redis.tell([delete]).await
    }

    fn keys(user: UserId) -> Vec<String> {
        vec![keys::reacted(user), keys::reacted_fill(user)]
    }
}

impl Known {
    /// `answer` has the floor of each kind first, then for each kind a value for each tweet.
    fn read(tweets: &[TweetId], answer: &[Option<u64>]) -> Self {
        let (floors, values) = answer.split_at(KINDS.len().min(answer.len()));
        let floors: Option<Vec<u64>> = floors.iter().copied().collect();
        let Some(floors) = floors.filter(|floors| floors.len() == KINDS.len()) else {
            return Self::Nothing;
        };
        let mut marks = Marks::default();
        for (kind, values) in KINDS.into_iter().zip(values.chunks(tweets.len().max(1))) {
            for (tweet, value) in tweets.iter().zip(values) {
                marks.note(ReactionState {
                    reaction: kind,
                    tweet: *tweet,
                    stands: value.is_some_and(|value| value & 1 == 1),
                    version: 0,
                });
            }
        }
        let known_from = floors.into_iter().max().unwrap_or(0);
        let unknown = tweets.iter().filter(|tweet| tweet.get() < known_from);
        Self::Marks {
            marks,
            unknown: unknown.copied().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tweets(ids: &[u64]) -> Vec<TweetId> {
        ids.iter().copied().map(TweetId::new).collect()
    }

    #[test]
    fn without_a_floor_nothing_is_known() {
        let answer = [None, None, None, Some(3), None, None];
        assert_eq!(Known::read(&tweets(&[7]), &answer), Known::Nothing);
    }

    #[test]
    fn what_was_taken_back_does_not_stand_and_what_is_below_a_floor_is_unknown() {
        // Likes are known from 10 on, reposts and hides all.
        let floors = [Some(10), Some(0), Some(0)];
        let likes = [Some(3), Some(2), None];
        let reposts = [None, Some(5), None];
        let hides = [None, None, Some(1)];
        let answer = [floors, likes, reposts, hides].concat();
        let Known::Marks { marks, unknown } = Known::read(&tweets(&[30, 20, 5]), &answer) else {
            panic!("there is a hash");
        };
        assert_eq!(marks.liked, tweets(&[30]).into_iter().collect());
        assert_eq!(marks.reposted, tweets(&[20]).into_iter().collect());
        assert_eq!(marks.hidden, tweets(&[5]).into_iter().collect());
        assert_eq!(unknown, tweets(&[5]));
    }
}
