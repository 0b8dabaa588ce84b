//! Which of the authors a user follows are pulled: `my_celebs:{u}`.
//!
//! Three write it: follow and unfollow, tier changes, and the reader who finds it missing. The first two change a set
//! only if it exists; the third fills it from the tables, unless one of the others came in between. An empty set
//! does not exist in Redis, so every set holds [`SENTINEL`]. [`super::Timelines::open`] reads it.

use std::sync::LazyLock;

use redis::cmd;

use super::{FillToken, keys};
use crate::Result;
use crate::domain::UserId;
use crate::platform::Roost;
use crate::platform::redis::{Redis, Script};

const SECONDS: u64 = 30 * 24 * 3600;
const SENTINEL: u64 = 0;
const PIPELINE: usize = 500;

static EDIT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/celebs_edit.lua")));
static FILL: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/celebs_fill.lua")));

#[derive(Clone)]
pub struct Celebs {
    redis: Redis,
}

impl Celebs {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// The authors whom a user pulls; `None` if Redis does not know.
    pub async fn read(&self, user: UserId) -> Result<Option<Vec<UserId>>> {
        let members = cmd("SMEMBERS").arg(keys::my_celebs(user)).take();
        Ok(decode(self.redis.one(members).await?))
    }

    /// From now on these users pull the author.
    pub async fn add(&self, users: &[UserId], author: UserId) -> Result<()> {
        self.edit("SADD", users, author).await
    }

    /// From now on these users do not pull the author.
    pub async fn remove(&self, users: &[UserId], author: UserId) -> Result<()> {
        self.edit("SREM", users, author).await
    }

    async fn edit(&self, command: &str, users: &[UserId], author: UserId) -> Result<()> {
        let arguments = || vec![command.as_bytes().to_vec(), author.to_string().into_bytes()];
        for users in users.chunks(PIPELINE) {
            let calls = users.iter().map(|user| (Self::keys(*user), arguments()));
            self.redis
                .tell_script(&EDIT, calls.collect::<Vec<_>>())
                .await?;
        }
        Ok(())
    }

    /// Call before reading the tables for [`Self::finish_fill`].
    pub async fn begin_fill(&self, user: UserId) -> Result<FillToken> {
        FillToken::seize(&self.redis, keys::my_celebs_fill(user)).await
    }

    pub async fn finish_fill(
        &self,
        user: UserId,
        token: FillToken,
        authors: &[UserId],
    ) -> Result<()> {
        let mut arguments = vec![token.to_string(), SECONDS.to_string(), SENTINEL.to_string()];
        arguments.extend(authors.iter().map(ToString::to_string));
        let arguments = arguments.into_iter().map(String::into_bytes).collect();
        self.redis
            .tell_script(&FILL, [(Self::keys(user), arguments)])
            .await
    }

    fn keys(user: UserId) -> Vec<String> {
        vec![keys::my_celebs(user), keys::my_celebs_fill(user)]
    }
}

/// The set as Redis gave it; `None` if it does not exist.
pub(super) fn decode(members: Vec<u64>) -> Option<Vec<UserId>> {
    let exists = !members.is_empty();
    exists.then(|| {
        members
            .into_iter()
            .filter(|id| *id != SENTINEL)
            .map(UserId::new)
            .collect()
    })
}
