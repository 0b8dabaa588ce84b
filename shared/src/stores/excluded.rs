//! The authors whom a reader must not be shown, as the table `relations` says: `excluded:{u}`, one text of 8 bytes an
//! author, of whom there are 15,000 at the most. [`super::Timelines::open`] reads it.
//!
//! It is never edited. Who changes the table first takes the text away, and with it the right to store a new one
//! ([`Excluded::begin_change`]); who reads meanwhile asks the table. After the change the next reader stores what the table
//! says. So no text is older than the table, also if the sandbox that changes it dies half-way: the right then comes back
//! by itself.
//!
//! A text is not renewed by reading it. Whatever might go wrong with one ends within a day.

use std::collections::HashSet;
use std::sync::LazyLock;

use redis::{Cmd, cmd};

use super::{FillToken, keys};
use crate::Result;
use crate::domain::UserId;
use crate::platform::Roost;
use crate::platform::redis::{Redis, Script};

const SECONDS: u64 = 24 * 3600;

/// How long a change may take: longer than a request and a piece of an erasure do.
const CHANGE_MILLISECONDS: u64 = 15_000;

/// Bytes of one author.
const ID: usize = size_of::<u64>();

static FILL: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/excluded_fill.lua")));
static RELEASE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/release.lua")));

#[derive(Clone)]
pub struct Excluded {
    redis: Redis,
}

/// A change of the table that is under way. Until it ends, nobody stores what they read there of these users.
#[must_use]
pub struct Change {
    users: Vec<UserId>,
    token: FillToken,
}

impl Excluded {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// To be called before the relations of these users are changed.
    pub async fn begin_change(&self, users: &[UserId]) -> Result<Change> {
        let token = FillToken::random();
        // First the right: nobody can store anything between the two.
        let commands = users.iter().flat_map(|user| {
            let seize = cmd("SET")
                .arg(keys::excluded_fill(*user))
                .arg(token.to_string())
                .arg("PX")
                .arg(CHANGE_MILLISECONDS)
                .take();
            [seize, forget(*user)]
        });
        self.redis.tell(commands.collect::<Vec<_>>()).await?;
        let users = users.to_vec();
        Ok(Change { users, token })
    }

    /// To be called after it, whether it worked or not.
    pub async fn end_change(&self, change: Change) -> Result<()> {
        // Once more, because Redis may have lost the right meanwhile.
        let forgets = change.users.iter().map(|user| forget(*user));
        self.redis.tell(forgets.collect::<Vec<_>>()).await?;
        let releases = change.users.iter().map(|user| {
            let token = change.token.to_string().into_bytes();
            (vec![keys::excluded_fill(*user)], vec![token])
        });
        let releases: Vec<_> = releases.collect();
        self.redis.tell_script(&RELEASE, releases).await
    }

    /// Call before reading the table for [`Self::finish_fill`]. `None` if somebody else fills or changes it.
    pub async fn begin_fill(&self, user: UserId) -> Result<Option<FillToken>> {
        FillToken::take(&self.redis, keys::excluded_fill(user)).await
    }

    pub async fn finish_fill(
        &self,
        user: UserId,
        token: FillToken,
        authors: &HashSet<UserId>,
    ) -> Result<()> {
        let ids = authors
            .iter()
            .flat_map(|author| author.get().to_be_bytes())
            .collect();
        let [token, seconds] = [token.to_string(), SECONDS.to_string()].map(String::into_bytes);
        let keys = vec![keys::excluded(user), keys::excluded_fill(user)];
        let call = (keys, vec![token, seconds, ids]);
        self.redis.tell_script(&FILL, [call]).await
    }
}

fn forget(user: UserId) -> Cmd {
    cmd("DEL").arg(keys::excluded(user)).take()
}

/// The command that reads the text.
pub(super) fn read_all(user: UserId) -> Cmd {
    cmd("GET").arg(keys::excluded(user)).take()
}

/// The authors of a text as Redis gave it; `None` if there is none.
pub(super) fn decode(text: Option<Vec<u8>>) -> Option<HashSet<UserId>> {
    let text = text?;
    let (ids, _) = text.as_chunks::<ID>();
    Some(
        ids.iter()
            .map(|id| UserId::new(u64::from_be_bytes(*id)))
            .collect(),
    )
}
