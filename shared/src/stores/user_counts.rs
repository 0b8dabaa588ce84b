//! What Redis knows of a user that changes often: counts, tier and epoch, `user_counts:{u}`.
//!
//! The fields are copied from the user's row together with the row's version, and an older version never replaces a
//! newer one. A deleted account leaves a version for a moment that is newer than all, and nothing else.

use std::collections::HashMap;
use std::sync::LazyLock;

use redis::{Cmd, Value, cmd};

use super::keys;
use super::users::UserRow;
use crate::Result;
use crate::domain::UserId;
use crate::domain::tier::{Tier, TierAndEpoch};
use crate::platform::Roost;
use crate::platform::redis::{self as connection, Batch, Redis, Script};

const SECONDS: u64 = 7 * 24 * 3600;

static SET: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/set_versioned.lua")));

/// What is kept beside the version.
const FIELDS: [&str; 5] = [
    "follower_count",
    "following_count",
    "is_celebrity",
    "tier",
    "epoch",
];

/// Newer than any row: the last whole number that a script can compare.
const GONE: u64 = (1 << 53) - 1;

#[derive(Clone)]
pub struct UserCounts {
    redis: Redis,
}

/// What a user's card shows of them.
pub(super) struct Shown {
    pub(super) follower_count: u64,
    pub(super) following_count: u64,
    pub(super) is_celebrity: bool,
}

impl UserCounts {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// Stores what these rows say, unless something newer is there.
    pub async fn set(&self, rows: &[UserRow]) -> Result<()> {
        let calls = rows.iter().map(|row| {
            let values = [
                row.followers().to_string(),
                row.following().to_string(),
                u8::from(row.tier.is_celebrity()).to_string(),
                row.tier.as_str().to_owned(),
                row.epoch.to_string(),
            ];
            let fields = FIELDS.into_iter().zip(values);
            let arguments = [row.version.to_string(), SECONDS.to_string()]
                .into_iter()
                .chain(fields.flat_map(|(name, value)| [name.to_owned(), value]));
            (
                vec![keys::user_counts(row.id())],
                arguments.map(String::into_bytes).collect(),
            )
        });
        self.redis
            .tell_script(&SET, calls.collect::<Vec<_>>())
            .await
    }

    /// The tiers of these users, as far as Redis knows them.
    pub async fn tiers(&self, users: &[UserId]) -> Result<HashMap<UserId, TierAndEpoch>> {
        let reads = users.iter().map(|user| {
            cmd("HMGET")
                .arg(keys::user_counts(*user))
                .arg(&["tier", "epoch"])
                .take()
        });
        let answers: Vec<(Option<String>, Option<u64>)> =
            self.redis.run(reads.collect::<Vec<_>>()).await?;
        let known = users.iter().zip(answers);
        let known = known.filter_map(|(user, (tier, epoch))| {
            let (tier, epoch) = (Tier::parse(&tier?)?, epoch?);
            Some((*user, TierAndEpoch { tier, epoch }))
        });
        Ok(known.collect())
    }

    /// How many followers somebody has; `None` if Redis does not know.
    pub async fn followers(&self, user: UserId) -> Result<Option<u64>> {
        let key = keys::user_counts(user);
        self.redis
            .one(cmd("HGET").arg(key).arg("follower_count").take())
            .await
    }

    /// How many followers somebody has, and their tier; `None` if Redis does not know.
    pub async fn standing(&self, user: UserId) -> Result<Option<(u64, Tier)>> {
        let key = keys::user_counts(user);
        let read = cmd("HMGET")
            .arg(key)
            .arg(&["follower_count", "tier"])
            .take();
        let (followers, tier): (Option<u64>, Option<String>) = self.redis.one(read).await?;
        let tier = tier.and_then(|tier| Tier::parse(&tier));
        Ok(followers.zip(tier))
    }

    /// Forgets what is known of these users. The table knows it.
    pub async fn forget(&self, users: impl IntoIterator<Item = UserId>) -> Result<()> {
        let deletes = users
            .into_iter()
            .map(|user| cmd("DEL").arg(keys::user_counts(user)).take());
        self.redis.tell(deletes.collect::<Vec<_>>()).await
    }
}

/// The commands after which nothing is kept of this user, and nothing stored for so many seconds. The version comes first:
/// what was stored before it goes, and nothing is stored after it.
pub(super) fn bury(user: UserId, seconds: u64) -> [Cmd; 3] {
    let key = keys::user_counts(user);
    [
        cmd("HSET").arg(&key).arg("version").arg(GONE).take(),
        cmd("HDEL").arg(&key).arg(&FIELDS).take(),
        cmd("EXPIRE").arg(&key).arg(seconds).take(),
    ]
}

/// Asks for what a card shows, beside other things.
pub(super) fn ask(user: UserId, reads: &mut Batch) {
    reads.add(&[
        b"HMGET",
        keys::user_counts(user).as_bytes(),
        b"follower_count",
        b"following_count",
        b"is_celebrity",
    ]);
}

/// The answer to [`ask`]; `None` if Redis does not know this user.
pub(super) fn shown(answer: Value) -> Option<Shown> {
    let (follower_count, following_count, is_celebrity) = connection::read(answer).ok()?;
    Some(Shown {
        follower_count,
        following_count,
        is_celebrity,
    })
}
