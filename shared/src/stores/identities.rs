//! Which user a token's `sub` is. The mapping never changes, so it is kept in memory, and in Redis where the function
//! has one anyway.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use redis::{Value, cmd};

use super::{Redis, Users, keys};
use crate::domain::UserId;
use crate::{Error, Result};

const SECONDS: u64 = 7 * 24 * 3600;

/// The memory of one sandbox is emptied here, so that it stays bounded.
const MOST_REMEMBERED: usize = 50_000;

#[derive(Clone)]
pub struct Identities {
    users: Users,
    redis: Option<Redis>,
    remembered: Arc<Mutex<HashMap<String, UserId>>>,
}

impl Identities {
    pub fn new(users: Users) -> Self {
        Self {
            users,
            redis: None,
            remembered: Arc::default(),
        }
    }

    pub fn cached_in(self, redis: Redis) -> Self {
        Self {
            redis: Some(redis),
            ..self
        }
    }

    /// The user behind a token, or the 403 that says to sign up first.
    pub async fn user(&self, sub: &str) -> Result<UserId> {
        if let Some(id) = self.remembered().get(sub) {
            return Ok(*id);
        }
        let id = match self.recall(sub).await {
            Some(id) => id,
            None => {
                let id = self.users.find_by_sub(sub).await?.ok_or(Error::NoProfile)?;
                self.remember(sub, id).await;
                id
            }
        };
        let mut remembered = self.remembered();
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(sub.to_owned(), id);
        Ok(id)
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<String, UserId>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    // The cache only saves a read: where it fails, the table answers.
    async fn recall(&self, sub: &str) -> Option<UserId> {
        let get = cmd("GET").arg(keys::identity(sub)).take();
        let id: Option<u64> = self.redis.as_ref()?.one(get).await.ok()?;
        id.map(UserId::new)
    }

    async fn remember(&self, sub: &str, id: UserId) {
        if let Some(redis) = &self.redis {
            let set = cmd("SET")
                .arg(keys::identity(sub))
                .arg(id.get())
                .arg("EX")
                .arg(SECONDS)
                .take();
            if let Err(error) = redis.one::<Value>(set).await {
                tracing::warn!(error = error.chain(), "identity not cached");
            }
        }
    }
}
