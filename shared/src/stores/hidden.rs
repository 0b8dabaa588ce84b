//! The authors whom a reader must not be shown although something of theirs may be cached: `hidden:{u}`.
//!
//! An unfollow takes the author's entries out of the reader's list. But whoever read the edge before and writes to the list
//! after that brings one back: a fan-out, a backfill, a demotion, a rebuild. They all read the edge in the invocation in
//! which they write, also when their record is delivered again or redriven after days. So an entry comes late by as long as
//! an invocation lasts, which is a minute at the most, and never by as long as a record lives. An author is hidden for
//! [`ON_ITS_WAY_MS`], and then forgotten together with what came meanwhile.
//!
//! The set is a sorted one: authors with the time when they were hidden. One more member, [`KNOWN`], says how far the set
//! can be relied on. It is made by the first reader who finds none. If the set is lost, so is [`KNOWN`], and readers ask the
//! tables whom they follow until nothing can be late any more ([`Doubt`]).

use std::collections::HashSet;
use std::sync::LazyLock;

use redis::{Cmd, cmd};

use super::keys;
use crate::Result;
use crate::domain::UserId;
use crate::platform::redis::{Redis, Script};
use crate::platform::{Roost, now_millis};

/// How long an entry may be on its way to a list: five times what an invocation of a stream consumer may take.
pub const ON_ITS_WAY_MS: u64 = 5 * 60_000;

/// The most members of one set, which is read with every page: 8 bytes and a time each. More authors than that are not
/// forgotten one by one; instead nothing is taken for known, see [`Doubt::EachRead`].
pub const MOST: usize = 500;

/// The member whose score says how far the set can be relied on:
/// 0 entirely; n from the time n on, and every read has to be checked until then; -n the same without these checks.
const KNOWN: UserId = UserId::new(0);

static HIDE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("scripts/hide.lua")));
static FORGET: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("scripts/entry.lua"),
        include_str!("scripts/forget_hidden.lua")
    ))
});
static END_DOUBT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/end_doubt.lua")));

#[derive(Clone)]
pub struct Hidden {
    redis: Redis,
    ttl_seconds: u64,
}

/// The set as a reader finds it.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenAuthors {
    pub authors: HashSet<UserId>,
    /// Those of them of whom nothing can come any more.
    pub over: Vec<UserId>,
    pub doubt: Doubt,
}

/// May authors have to be hidden whom the set does not name?
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// No: it names all of them.
    None,
    /// Nobody knows: the set is missing.
    Unknown,
    /// The set was lost, or had too many members, a moment ago. Entries of unfollowed authors may be in the list or come.
    EachRead,
    /// The list was made a moment ago, out of the tables, when there was no set. Only an entry that was on its way at that
    /// time, to the list before this one, can be wrong in it, so it is checked later.
    Later,
    /// Nothing can be on its way any more. What is in the list has to be checked once. The score of [`KNOWN`] is told to
    /// [`Hidden::end_doubt`].
    Due(f64),
}

impl Hidden {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
            ttl_seconds: roost.config.timeline_ttl_seconds()?,
        })
    }

    /// From now on no reader shows this author to the user.
    pub async fn hide(&self, user: UserId, author: UserId) -> Result<()> {
        let numbers = [now_millis(), ON_ITS_WAY_MS, MOST as u64, self.ttl_seconds];
        let mut arguments = vec![member(author)];
        arguments.extend(numbers.map(|number| number.to_string().into_bytes()));
        arguments.push(member(KNOWN));
        let call = (vec![keys::hidden(user)], arguments);
        self.redis.tell_script(&HIDE, [call]).await
    }

    pub async fn unhide(&self, user: UserId, author: UserId) -> Result<()> {
        let remove = cmd("ZREM")
            .arg(keys::hidden(user))
            .arg(member(author))
            .take();
        self.redis.tell([remove]).await
    }

    /// Forgets authors whom a reader found to be [`HiddenAuthors::over`], with all that came of them meanwhile.
    pub async fn forget(&self, user: UserId, authors: &[UserId]) -> Result<()> {
        let hidden_before = now_millis().saturating_sub(ON_ITS_WAY_MS);
        let mut arguments = vec![hidden_before.to_string().into_bytes()];
        for author in authors {
            arguments.extend([member(*author), author.to_string().into_bytes()]);
        }
        let keys = [keys::hidden, keys::home_timeline, keys::my_celebs];
        let call = (keys.map(|key| key(user)).to_vec(), arguments);
        self.redis.tell_script(&FORGET, [call]).await
    }

    /// Notes that the set was missing. `check_each_read` if there was a list, whose entries nobody has checked.
    pub async fn begin_doubt(&self, user: UserId, check_each_read: bool) -> Result<()> {
        let until = i64::try_from(now_millis() + ON_ITS_WAY_MS).unwrap_or(i64::MAX);
        let key = keys::hidden(user);
        let note = cmd("ZADD")
            .arg(&key)
            .arg("NX")
            .arg(if check_each_read { until } else { -until })
            .arg(member(KNOWN))
            .take();
        let renew = cmd("EXPIRE").arg(key).arg(self.ttl_seconds).take();
        self.redis.tell([note, renew]).await
    }

    /// Notes that the list was checked after a doubt was due.
    pub async fn end_doubt(&self, user: UserId, score: f64) -> Result<()> {
        let arguments = vec![member(KNOWN), score.to_string().into_bytes()];
        let call = (vec![keys::hidden(user)], arguments);
        self.redis.tell_script(&END_DOUBT, [call]).await
    }
}

impl HiddenAuthors {
    /// `members` as Redis gives them.
    pub(super) fn new(members: &[(Vec<u8>, f64)], now_millis: u64) -> Self {
        let now = now_millis as f64;
        let mut found = Self {
            authors: HashSet::new(),
            over: Vec::new(),
            doubt: Doubt::Unknown,
        };
        for (member, score) in members {
            match <[u8; 8]>::try_from(member.as_slice()).map(u64::from_be_bytes) {
                Ok(id) if id == KNOWN.get() => found.doubt = Doubt::of(*score, now),
                Ok(id) => {
                    found.authors.insert(UserId::new(id));
                    if *score < now - ON_ITS_WAY_MS as f64 {
                        found.over.push(UserId::new(id));
                    }
                }
                Err(_) => {}
            }
        }
        found
    }
}

impl Doubt {
    fn of(score: f64, now: f64) -> Self {
        if score == 0.0 {
            Self::None
        } else if score.abs() <= now {
            Self::Due(score)
        } else if score > 0.0 {
            Self::EachRead
        } else {
            Self::Later
        }
    }
}

/// The command that reads a set.
pub(super) fn read_all(user: UserId) -> Cmd {
    cmd("ZRANGE")
        .arg(keys::hidden(user))
        .arg(0)
        .arg(-1)
        .arg("WITHSCORES")
        .take()
}

/// Big endian, as in a list's entries: scripts compare the two, and their numbers cannot hold an id.
fn member(author: UserId) -> Vec<u8> {
    author.get().to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn found(members: &[(u64, f64)]) -> HiddenAuthors {
        let members: Vec<(Vec<u8>, f64)> = members
            .iter()
            .map(|(id, score)| (member(UserId::new(*id)), *score))
            .collect();
        HiddenAuthors::new(&members, NOW)
    }

    #[test]
    fn a_set_says_itself_how_far_it_can_be_relied_on() {
        let (now, late) = (NOW as f64, ON_ITS_WAY_MS as f64);
        for (score, doubt) in [
            (0.0, Doubt::None),
            (now + late, Doubt::EachRead),
            (-now - late, Doubt::Later),
            (now, Doubt::Due(now)),
            (-now, Doubt::Due(-now)),
        ] {
            assert_eq!(found(&[(0, score)]).doubt, doubt, "{score}");
        }
        assert_eq!(found(&[]).doubt, Doubt::Unknown);
        assert_eq!(found(&[(7, now)]).doubt, Doubt::Unknown);
    }

    #[test]
    fn an_author_is_hidden_until_nothing_can_be_on_its_way() {
        let (now, late) = (NOW as f64, ON_ITS_WAY_MS as f64);
        let found = found(&[(0, 0.0), (7, now), (8, now - late), (9, now - late - 1.0)]);
        let all = [7, 8, 9].map(UserId::new);
        assert_eq!(found.authors, HashSet::from(all));
        assert_eq!(found.over, [UserId::new(9)]);
    }
}
