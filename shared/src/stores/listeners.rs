//! The connected users, as deliveries need them: sorted sets in Redis that answer for a thousand users at once.
//!
//! - `listeners:{n}` holds everybody who is connected, in [`SETS`] sets. The score is the time of the user's last notice.
//! - `fans:{a:n}` holds the connected followers of an author who is pulled, split in the same way. The score is the time
//!   at which they were seen last. A fan who has left or unfollows stays for a while: only `listeners` says who is there,
//!   and only a count of what is new says what they get to hear.
//!
//! The truth is in the table `live`. A set of listeners holds [`SENTINEL`] if it knows everybody. If Redis lost it, or
//! never had it, whoever asks next finds that out, and `notify-readers` makes it anew.

use std::collections::HashMap;

use redis::{Cmd, Value, cmd};

use super::keys;
use crate::Result;
use crate::domain::UserId;
use crate::domain::live::{CONNECTION_SECONDS, FRESH_MS, SETS, by_set, set_of};
use crate::platform::Roost;
use crate::platform::redis::{Redis, read};

/// A member of every set of listeners that is complete. No user has this id.
const SENTINEL: u64 = 0;

/// Members of a set that is read whole.
const FEW: usize = 200;

/// Members that one step of a walk through fans gives, more or less.
const STEP: usize = 1_000;

/// The right to have the sets made anew lasts so long after the last piece of it.
const RESTORING_SECONDS: u64 = 60;

/// How often a ping renews where a user is a fan. Somebody may follow thousands of celebrities, and ping all the time.
const FAN_SECONDS: u64 = 60;

#[derive(Clone)]
pub struct Listeners {
    redis: Redis,
}

/// Whom of some users to give a notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// They are connected, and their last notice is too old to stand for this one.
    pub due: Vec<UserId>,
    /// `true` if a set that was asked may not know everybody.
    pub is_lost: bool,
}

/// What one set says.
struct Scores {
    is_lost: bool,
    /// Those who are connected, and when they got their last notice.
    of_users: Vec<(UserId, u64)>,
}

impl Scores {
    /// Out of members with their scores.
    fn among(users: &[UserId], members: &HashMap<u64, f64>) -> Self {
        let score = |user: &UserId| Some((*user, *members.get(&user.get())? as u64));
        Self {
            is_lost: !members.contains_key(&SENTINEL),
            of_users: users.iter().filter_map(score).collect(),
        }
    }
}

impl Listeners {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// One command for each set that the users are in, or two if very many are connected.
    pub async fn among(&self, users: &[UserId], now_millis: u64) -> Result<Found> {
        let mut found = Found::default();
        for Scores { is_lost, of_users } in self.scores(users).await? {
            found.is_lost |= is_lost;
            let due = of_users
                .into_iter()
                .filter(|(_, noticed_at)| noticed_at + FRESH_MS <= now_millis);
            found.due.extend(due.map(|(user, _)| user));
        }
        Ok(found)
    }

    /// What the sets say of these users. A set with few members is read whole: that is less work for Redis, and for us, than
    /// to ask for a thousand users of whom nobody is connected.
    async fn scores(&self, users: &[UserId]) -> Result<Vec<Scores>> {
        let sets = by_set(users);
        let beginnings = sets.keys().map(|set| {
            let mut read = cmd("ZRANGE");
            read.arg(keys::listeners(*set)).arg(0).arg(FEW);
            read.arg("WITHSCORES");
            read
        });
        let beginnings: Vec<Vec<(u64, f64)>> = self.redis.run(beginnings).await?;
        let (mut known, mut large) = (Vec::new(), Vec::new());
        for ((set, users), members) in sets.into_iter().zip(beginnings) {
            if members.len() <= FEW {
                known.push(Scores::among(&users, &members.into_iter().collect()));
            } else {
                large.push((set, users));
            }
        }
        known.extend(self.scores_in_large(large).await?);
        Ok(known)
    }

    async fn scores_in_large(&self, sets: Vec<(u8, Vec<UserId>)>) -> Result<Vec<Scores>> {
        let commands = sets.iter().map(|(set, users)| {
            let mut command = cmd("ZMSCORE");
            command.arg(keys::listeners(*set)).arg(SENTINEL);
            for user in users {
                command.arg(user.get());
            }
            command
        });
        let answers: Vec<Vec<Option<f64>>> = self.redis.run(commands).await?;
        let answers = sets.into_iter().zip(answers).map(|((_, users), scores)| {
            let asked = [SENTINEL]
                .into_iter()
                .chain(users.iter().map(|user| user.get()));
            let known = asked.zip(scores);
            let known = known.filter_map(|(member, score)| Some((member, score?)));
            Scores::among(&users, &known.collect())
        });
        Ok(answers.collect())
    }

    /// These users have a notice of this time. A user who has left meanwhile is not added again.
    pub async fn noticed(&self, users: &[UserId], now_millis: u64) -> Result<()> {
        let commands = by_set(users).into_iter().map(|(set, users)| {
            let mut command = cmd("ZADD");
            command.arg(keys::listeners(set)).arg("XX").arg("GT");
            for user in users {
                command.arg(now_millis).arg(user.get());
            }
            command
        });
        self.redis.tell(commands.collect::<Vec<_>>()).await
    }

    /// This user is connected, and has a notice of this time. `false` if the set may not know everybody else.
    pub async fn add(&self, user: UserId, now_millis: u64) -> Result<bool> {
        let key = keys::listeners(set_of(user));
        let sentinel = cmd("ZSCORE").arg(&key).arg(SENTINEL).take();
        let commands = renew(&key, &[user], now_millis).into_iter();
        let answers: Vec<Value> = self.redis.run(commands.chain([sentinel])).await?;
        let sentinel = answers.into_iter().next_back().unwrap_or(Value::Nil);
        Ok(read::<Option<f64>>(sentinel)?.is_some())
    }

    pub async fn remove(&self, user: UserId) -> Result<()> {
        let key = keys::listeners(set_of(user));
        let remove = cmd("ZREM").arg(key).arg(user.get()).take();
        self.redis.tell([remove]).await
    }

    pub async fn knows(&self, user: UserId) -> Result<bool> {
        let key = keys::listeners(set_of(user));
        let score: Option<f64> = self
            .redis
            .one(cmd("ZSCORE").arg(key).arg(user.get()).take())
            .await?;
        Ok(score.is_some())
    }

    /// `true` for one caller in a while: they see to it that the sets are made anew.
    pub async fn may_restore(&self) -> Result<bool> {
        let mut set = cmd("SET");
        set.arg(keys::RESTORING_LISTENERS).arg(1);
        set.arg("NX").arg("EX").arg(RESTORING_SECONDS);
        let answer: Option<String> = self.redis.one(set).await?;
        Ok(answer.is_some())
    }

    /// The sets are being made anew: nobody else need begin with it.
    pub async fn go_on_restoring(&self) -> Result<()> {
        let mut set = cmd("SET");
        set.arg(keys::RESTORING_LISTENERS).arg(1);
        set.arg("EX").arg(RESTORING_SECONDS);
        self.redis.tell([set]).await
    }

    /// Every set knows everybody from now on.
    pub async fn complete(&self) -> Result<()> {
        let commands = (0..SETS).flat_map(|set| {
            let key = keys::listeners(set);
            // Above all times, so that it is never cleared away.
            let add = cmd("ZADD").arg(&key).arg("+inf").arg(SENTINEL).take();
            [add, expire(&key)]
        });
        let done = cmd("DEL").arg(keys::RESTORING_LISTENERS).take();
        self.redis
            .tell(commands.chain([done]).collect::<Vec<_>>())
            .await
    }

    /// `true` once a minute for each user: then it is time to renew where they are a fan.
    pub async fn may_renew_fan(&self, user: UserId) -> Result<bool> {
        let mut set = cmd("SET");
        set.arg(keys::fan(user)).arg(1);
        set.arg("NX").arg("EX").arg(FAN_SECONDS);
        let answer: Option<String> = self.redis.one(set).await?;
        Ok(answer.is_some())
    }

    /// These users follow an author who is pulled from now on. Those of them who are connected become fans.
    pub async fn add_fans(&self, author: UserId, users: &[UserId], now_millis: u64) -> Result<()> {
        let known = self.scores(users).await?.into_iter();
        let connected = known.flat_map(|scores| scores.of_users);
        let connected: Vec<UserId> = connected.map(|(user, _)| user).collect();
        let commands = by_set(&connected).into_iter().flat_map(|(set, users)| {
            let key = keys::fans(author, set);
            renew(&key, &users, now_millis)
        });
        self.redis.tell(commands.collect::<Vec<_>>()).await
    }

    /// This user is connected and follows these authors, who are pulled.
    pub async fn add_fan(&self, user: UserId, authors: &[UserId], now_millis: u64) -> Result<()> {
        let commands = authors.iter().flat_map(|author| {
            let key = keys::fans(*author, set_of(user));
            renew(&key, &[user], now_millis)
        });
        self.redis.tell(commands.collect::<Vec<_>>()).await
    }

    /// How many fans an author has in each set, and `true` if a set of listeners may not know everybody.
    pub async fn count_fans(&self, author: UserId) -> Result<(Vec<usize>, bool)> {
        let counts = (0..SETS).map(|set| cmd("ZCARD").arg(keys::fans(author, set)).take());
        let sentinels = (0..SETS).map(|set| {
            let key = keys::listeners(set);
            cmd("ZCOUNT").arg(key).arg("+inf").arg("+inf").take()
        });
        let mut answers: Vec<usize> = self.redis.run(counts.chain(sentinels)).await?;
        let sentinels = answers.split_off(usize::from(SETS));
        Ok((answers, sentinels.contains(&0)))
    }

    /// Some fans of one set, and where to go on; 0 at the end. A fan who is there all the time is found, perhaps twice.
    pub async fn fans(&self, author: UserId, set: u8, from: u64) -> Result<(u64, Vec<UserId>)> {
        let mut scan = cmd("ZSCAN");
        scan.arg(keys::fans(author, set)).arg(from);
        scan.arg("COUNT").arg(STEP);
        let (next, members): (u64, Vec<(u64, f64)>) = self.redis.one(scan).await?;
        let fans = members.into_iter().map(|(user, _)| UserId::new(user));
        Ok((next, fans.collect()))
    }
}

/// Puts users into a set, and takes those out whose connections must have ended.
fn renew(key: &str, users: &[UserId], now_millis: u64) -> [Cmd; 3] {
    let over = now_millis.saturating_sub(CONNECTION_SECONDS * 1_000);
    let mut add = cmd("ZADD");
    add.arg(key).arg("GT");
    for user in users {
        add.arg(now_millis).arg(user.get());
    }
    let clear = cmd("ZREMRANGEBYSCORE")
        .arg(key)
        .arg("-inf")
        .arg(over)
        .take();
    [add, clear, expire(key)]
}

fn expire(key: &str) -> Cmd {
    cmd("EXPIRE").arg(key).arg(CONNECTION_SECONDS).take()
}
