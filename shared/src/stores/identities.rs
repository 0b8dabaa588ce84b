//! Which user a token's `sub` is. The mapping changes only when a profile is deleted, so it is kept in memory for a
//! while, and in Redis.
//!
//! Every request asks Redis whether the memory still holds ([`Identities::verify`]), or the table if Redis does not know.
//! A deleted profile leaves a tombstone for a moment, so that a late fill does not bring it back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::{Cmd, cmd};

use super::{Users, keys};
use crate::domain::UserId;
use crate::platform::redis::Redis;
use crate::platform::{Moment, Roost};
use crate::{Error, Result};

const SECONDS: u64 = 7 * 24 * 3600;

/// How long a sandbox trusts its memory.
const FRESH: Duration = Duration::from_secs(60);

/// Longer than a request takes that has read the old profile and is about to cache it.
const TOMBSTONE_SECONDS: u64 = 30;
/// Stands before the id of a deleted profile. Its owner may have a new one by now, so the id is part of it.
const TOMBSTONE: char = '-';

/// The memory of one sandbox is emptied here, so that it stays bounded.
const MOST_REMEMBERED: usize = 50_000;

#[derive(Clone)]
pub struct Identities {
    users: Users,
    redis: Redis,
    remembered: Arc<Mutex<HashMap<String, (Moment, UserId)>>>,
}

/// What Redis knows about a `sub`.
enum Recalled {
    User(UserId),
    /// This profile was deleted a moment ago.
    Gone(UserId),
    Nothing,
    /// It did not answer.
    Unreachable,
}

impl Identities {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            redis: roost.redis()?,
            remembered: Arc::default(),
        })
    }

    /// The user behind a token, or the 403 that says to sign up first.
    pub async fn user(&self, sub: &str) -> Result<UserId> {
        if let Some((since, id)) = self.remembered().get(sub)
            && since.elapsed() < FRESH
        {
            return Ok(*id);
        }
        let id = match self.recall(sub).await {
            Recalled::User(id) => id,
            Recalled::Gone(_) | Recalled::Nothing | Recalled::Unreachable => {
                self.look_up(sub).await?.ok_or(Error::NoProfile)?
            }
        };
        let mut remembered = self.remembered();
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(sub.to_owned(), (Moment::now(), id));
        Ok(id)
    }

    /// `true` if the user behind a token is still the one that this sandbox remembers. Otherwise the memory is forgotten.
    /// If Redis does not know, the table is asked; if Redis does not answer, the memory counts.
    pub async fn verify(&self, sub: &str) -> bool {
        let Some((_, remembered)) = self.remembered().get(sub).copied() else {
            return true;
        };
        let same = match self.recall(sub).await {
            Recalled::User(id) => id == remembered,
            Recalled::Gone(id) => id != remembered,
            Recalled::Nothing => {
                let found = self.look_up(sub).await;
                found.map_or(true, |id| id == Some(remembered))
            }
            Recalled::Unreachable => true,
        };
        if !same {
            self.remembered().remove(sub);
        }
        same
    }

    /// The profile behind a token was deleted: from now on the token does not lead to that user.
    pub async fn bury(&self, sub: &str, id: UserId) -> Result<()> {
        self.remembered().remove(sub);
        let set = set(sub, &format!("{TOMBSTONE}{id}"), TOMBSTONE_SECONDS);
        self.redis.tell([set]).await
    }

    /// The token has a new profile: what was known of the old one is forgotten.
    pub async fn forget(&self, sub: &str) -> Result<()> {
        self.remembered().remove(sub);
        let delete = cmd("DEL").arg(keys::identity(sub)).take();
        self.redis.tell([delete]).await
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Moment, UserId)>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    // The cache only saves a read: if it fails, the table answers.
    async fn recall(&self, sub: &str) -> Recalled {
        let get = cmd("GET").arg(keys::identity(sub)).take();
        match self.redis.one::<Option<String>>(get).await {
            Ok(Some(known)) => {
                let (gone, id) = match known.strip_prefix(TOMBSTONE) {
                    Some(id) => (true, id),
                    None => (false, known.as_str()),
                };
                match id.parse().map(UserId::new) {
                    Ok(id) if gone => Recalled::Gone(id),
                    Ok(id) => Recalled::User(id),
                    Err(_) => Recalled::Nothing,
                }
            }
            Ok(None) => Recalled::Nothing,
            Err(_) => Recalled::Unreachable,
        }
    }

    /// Asks the table, and tells Redis.
    async fn look_up(&self, sub: &str) -> Result<Option<UserId>> {
        let found = self.users.find_by_sub(sub).await?;
        if let Some(id) = found {
            self.remember(sub, id).await;
        }
        Ok(found)
    }

    async fn remember(&self, sub: &str, id: UserId) {
        // Not over a tombstone: what was read from the table may be older.
        let set = set(sub, &id.to_string(), SECONDS).arg("NX").take();
        if let Err(error) = self.redis.tell([set]).await {
            tracing::warn!(error = error.chain(), "identity not cached");
        }
    }
}

fn set(sub: &str, value: &str, seconds: u64) -> Cmd {
    let key = keys::identity(sub);
    cmd("SET").arg(key).arg(value).arg("EX").arg(seconds).take()
}
