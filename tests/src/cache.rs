//! What Redis holds, read and written without Roost.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, FromRedisValue};

use crate::local_cloud::signal;
use crate::patience::PATIENCE;
use crate::target::Target;
use keys::home_timeline;

/// The entry that an empty timeline consists of.
pub const SENTINEL: [u8; 16] = [0; 16];

/// A tweet as a line of a home timeline: its id and its author's, big endian.
pub fn entry(tweet: u64, author: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&tweet.to_be_bytes());
    bytes[8..].copy_from_slice(&author.to_be_bytes());
    bytes
}

/// The keys of one user. The braces are literal.
pub mod keys {
    pub fn home_timeline(user: u64) -> String {
        format!("home_timeline:{{{user}}}")
    }

    /// The authors whom this user has unfollowed lately.
    pub fn hidden(user: u64) -> String {
        format!("hidden:{{{user}}}")
    }

    /// The authors whom this user must not be shown.
    pub fn excluded(user: u64) -> String {
        format!("excluded:{{{user}}}")
    }

    /// The right to fill that.
    pub fn excluded_fill(user: u64) -> String {
        format!("excluded_fill:{{{user}}}")
    }

    pub fn my_celebs(user: u64) -> String {
        format!("my_celebs:{{{user}}}")
    }

    /// How close the user is to authors.
    pub fn affinity(user: u64) -> String {
        format!("affinity:{{{user}}}")
    }

    /// Which tweets this user has reacted to.
    pub fn reacted(user: u64) -> String {
        format!("reacted:{{{user}}}")
    }

    /// How many people reacted to this tweet.
    pub fn stats(tweet: u64) -> String {
        format!("stats:{{{tweet}}}")
    }

    /// Says that this user has read in this hour.
    pub fn active(user: u64) -> String {
        format!("active:{{{user}}}")
    }

    pub fn user_counts(user: u64) -> String {
        format!("user_counts:{{{user}}}")
    }

    /// The set of connected users that this one is in. People who sign up in the same week share it.
    pub fn listeners(user: u64) -> String {
        let set = shared::domain::live::set_of(shared::domain::UserId::new(user));
        format!("listeners:{{{set}}}")
    }

    /// The newest tweets of an author who is pulled.
    pub fn feed(author: u64) -> String {
        format!("user:{{{author}}}:tweets")
    }
}

/// One key, see [`Cache::dump`].
#[derive(Clone, Debug)]
pub struct Dumped {
    key: String,
    value: Vec<u8>,
    milliseconds: i64,
}

#[derive(Clone, Debug)]
pub struct Cache(MultiplexedConnection);

impl Cache {
    pub(crate) async fn of(target: &Target) -> Option<Self> {
        let client = redis::Client::open(target.endpoints.redis.as_deref()?).expect("a Redis URL");
        // A test has no hurry: half a second, the default, is not enough for a machine with much else to do.
        let patient = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
        let connection = client.get_multiplexed_async_connection_with_config(&patient);
        Some(Self(connection.await.expect("Redis answers")))
    }

    pub async fn flush(&self) {
        redis::cmd("FLUSHALL")
            .exec_async(&mut self.0.clone())
            .await
            .expect("FLUSHALL");
    }

    /// How many bytes the server sends while this is done; not exactly, because others may be served meanwhile.
    pub async fn bytes_sent_by(&self, work: impl FnOnce()) -> u64 {
        let before = self.bytes_sent().await;
        // What asking sends by itself.
        let asked = self.bytes_sent().await;
        work();
        self.bytes_sent().await - asked - (asked - before)
    }

    async fn bytes_sent(&self) -> u64 {
        let stats: String = self.ask(&["INFO", "stats"]).await;
        let sent = stats
            .lines()
            .find_map(|line| line.strip_prefix("total_net_output_bytes:"));
        sent.and_then(|number| number.trim().parse().ok())
            .expect("a number of bytes")
    }

    /// Any command, word by word.
    pub async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        let mut command = redis::Cmd::new();
        command.arg(words);
        let answer = command.query_async(&mut self.0.clone()).await;
        answer.unwrap_or_else(|e| panic!("{words:?}: {e}"))
    }

    /// The feed of an author who is pulled, newest first, without the marks of its ends.
    pub async fn feed(&self, author: u64) -> Vec<u64> {
        let members: Vec<String> = self
            .ask(&["ZREVRANGE", &keys::feed(author), "0", "-1"])
            .await;
        let is_end = |member: &&String| *member == "top" || *member == "bottom";
        let entries = members.iter().filter(|member| !is_end(member));
        // A repost's member goes on behind its own id.
        let ids = entries.map(|member| member.split(':').next().unwrap_or(member));
        ids.map(|id| id.parse().expect("an id in fixed width"))
            .collect()
    }

    /// Gives each of these an empty timeline, as if they had just read it.
    pub async fn activate(&self, users: &[u64]) {
        for users in users.chunks(500) {
            let mut pipeline = redis::pipe();
            for user in users {
                pipeline
                    .cmd("RPUSH")
                    .arg(home_timeline(*user))
                    .arg(&SENTINEL)
                    .ignore();
            }
            pipeline
                .exec_async(&mut self.0.clone())
                .await
                .expect("RPUSH");
        }
    }

    /// The keys whose name or value has one of these words, or whose entries have this author.
    pub async fn mentions(&self, user: u64, words: &[String]) -> Vec<String> {
        let keys: Vec<String> = self.ask(&["KEYS", "*"]).await;
        // An entry of a list has the author in its second half, less the top bit. A hidden author is such a half alone, and
        // excluded authors are many of them.
        let in_entry = |bytes: &[u8]| {
            let (halves, rest) = bytes.as_chunks::<8>();
            let is_user = |half: &[u8; 8]| u64::from_be_bytes(*half) & !(1 << 63) == user;
            rest.is_empty() && halves.iter().any(is_user)
        };
        let in_text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            words.iter().any(|word| text.contains(word))
        };
        let mut found = Vec::new();
        for key in keys {
            let kind: String = self.ask(&["TYPE", &key]).await;
            let read: &[&str] = match kind.as_str() {
                "list" => &["LRANGE", &key, "0", "-1"],
                "set" => &["SMEMBERS", &key],
                "zset" => &["ZRANGE", &key, "0", "-1"],
                "hash" => &["HGETALL", &key],
                "string" => &["MGET", &key],
                // It expired between the two questions.
                _ => continue,
            };
            let values: Vec<Option<Vec<u8>>> = self.ask(read).await;
            let values = values.into_iter().flatten();
            if in_text(key.as_bytes()) || { values }
                .any(|value| in_entry(&value) || in_text(&value))
            {
                found.push(key);
            }
        }
        found
    }

    /// Puts an entry at the head of a list.
    pub async fn push(&self, user: u64, entry: &[u8]) {
        let mut push = redis::cmd("LPUSH");
        push.arg(home_timeline(user)).arg(entry);
        let pushed = push.query_async::<i64>(&mut self.0.clone()).await;
        pushed.expect("LPUSH");
    }

    /// The newest entry of each of these users' lists.
    pub async fn newest_entries(&self, users: &[u64]) -> Vec<Option<Vec<u8>>> {
        let mut entries = Vec::with_capacity(users.len());
        for users in users.chunks(1_000) {
            let mut pipeline = redis::pipe();
            for user in users {
                pipeline.cmd("LINDEX").arg(home_timeline(*user)).arg(0);
            }
            let found: Vec<Option<Vec<u8>>> = pipeline
                .query_async(&mut self.0.clone())
                .await
                .expect("LINDEX");
            entries.extend(found);
        }
        entries
    }

    /// The lists of these users as they are; empty if a user has none.
    pub async fn home_timelines(&self, users: &[u64]) -> Vec<Vec<Vec<u8>>> {
        let mut lists = Vec::with_capacity(users.len());
        for users in users.chunks(1_000) {
            let mut pipeline = redis::pipe();
            for user in users {
                pipeline
                    .cmd("LRANGE")
                    .arg(home_timeline(*user))
                    .arg(0)
                    .arg(-1);
            }
            let found: Vec<Vec<Vec<u8>>> = pipeline
                .query_async(&mut self.0.clone())
                .await
                .expect("LRANGE");
            lists.extend(found);
        }
        lists
    }

    /// Every key with its value as Redis writes it down, and how long it lives.
    pub async fn dump(&self) -> Vec<Dumped> {
        let keys: Vec<String> = self.ask(&["KEYS", "*"]).await;
        let mut state = Vec::new();
        for key in keys {
            let value: Option<Vec<u8>> = self.ask(&["DUMP", &key]).await;
            let milliseconds: i64 = self.ask(&["PTTL", &key]).await;
            // A key may expire between the commands.
            state.extend(value.map(|value| Dumped {
                key,
                value,
                milliseconds: milliseconds.max(0),
            }));
        }
        state
    }

    /// Puts the server back to an earlier state, at once.
    pub async fn restore(&self, state: &[Dumped]) {
        let mut pipeline = redis::pipe();
        pipeline.atomic().cmd("FLUSHALL").ignore();
        for dumped in state {
            pipeline
                .cmd("RESTORE")
                .arg(&dumped.key)
                .arg(dumped.milliseconds)
                .arg(&dumped.value)
                .ignore();
        }
        pipeline
            .exec_async(&mut self.0.clone())
            .await
            .expect("a state that Redis itself wrote down");
    }

    /// Makes the server hang, until what this gives is dropped.
    pub async fn stop_server(&self) -> StoppedServer {
        let server: String = self.ask(&["INFO", "server"]).await;
        let pid = server
            .lines()
            .find_map(|line| line.strip_prefix("process_id:")?.trim().parse().ok())
            .expect("redis knows its process id");
        assert!(signal("STOP", pid), "redis is gone");
        StoppedServer(pid)
    }
}

/// A server that answers nobody.
#[derive(Debug)]
pub struct StoppedServer(u32);

impl Drop for StoppedServer {
    fn drop(&mut self) {
        signal("CONT", self.0);
    }
}
