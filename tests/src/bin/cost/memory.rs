//! Bytes in Redis, as `MEMORY USAGE` says: our lists, the sorted sets that others use, and what else a reader and a tweet
//! take.

use roost_tests::{Cache, User, entry};
use serde_json::{Value, json};

/// The caps whose price is told.
pub(crate) const CAPS: [usize; 4] = [200, 400, 800, 1_600];
/// What the template has by default.
pub(crate) const CAP: usize = 800;
/// An id as they are today, of 19 digits.
const ID: u64 = 1_990_000_000_000_000_000;
/// Most tweets are older than the next one by some seconds: milliseconds, with 22 bits below them.
const APART: u64 = 20_000 << 22;

pub(crate) struct Memory {
    /// Bytes of a list for each of [`CAPS`].
    pub(crate) lists: [f64; 4],
    /// Bytes of a sorted set with ids as members and scores, for each of [`CAPS`].
    pub(crate) sorted_sets: [f64; 4],
    /// All keys of a reader but the list.
    pub(crate) reader: f64,
    /// A cached tweet with its counts.
    pub(crate) tweet: f64,
    /// A cached profile with its counts.
    pub(crate) profile: f64,
    /// The server that was asked, with its version.
    pub(crate) server: String,
}

impl Memory {
    pub(crate) fn list(&self) -> f64 {
        of_cap(&self.lists)
    }

    pub(crate) fn sorted_set(&self) -> f64 {
        of_cap(&self.sorted_sets)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "caps": CAPS,
            "list_bytes": self.lists,
            "sorted_set_bytes": self.sorted_sets,
            "other_bytes_of_a_reader": self.reader.round(),
            "bytes_of_a_tweet": self.tweet.round(),
            "bytes_of_a_profile": self.profile.round(),
            "server": self.server,
        })
    }
}

fn of_cap(bytes: &[f64; 4]) -> f64 {
    let at = CAPS.iter().position(|cap| *cap == CAP);
    bytes[at.unwrap_or_default()]
}

pub(crate) async fn measure(cache: &Cache, readers: &[User]) -> Memory {
    let mut memory = Memory {
        lists: [0.0; 4],
        sorted_sets: [0.0; 4],
        reader: 0.0,
        tweet: average(cache, &["tweet:{*", "stats:{*"]).await,
        profile: average(cache, &["profile:{*", "user_counts:{*"]).await,
        server: server(cache).await,
    };
    for (number, cap) in CAPS.into_iter().enumerate() {
        let user = ID + number as u64;
        let key = format!("timeline:{user}");
        let mut add = vec!["ZADD".to_owned(), key.clone()];
        for tweet in 0..cap as u64 {
            let id = ID - (cap as u64 - tweet) * APART;
            // Pushed one by one, as a fan-out does.
            cache.push(user, &entry(id, ID - tweet * APART * 7)).await;
            add.extend([id.to_string(), id.to_string()]);
        }
        let add: Vec<&str> = add.iter().map(String::as_str).collect();
        let _: u64 = cache.ask(&add).await;
        memory.lists[number] = bytes(cache, &roost_tests::keys::home_timeline(user)).await;
        memory.sorted_sets[number] = bytes(cache, &key).await;
    }
    for reader in readers {
        let keys: Vec<String> = cache.ask(&["KEYS", &format!("*{{{}}}*", reader.id)]).await;
        for key in keys.iter().filter(|key| !key.starts_with("home_timeline:")) {
            memory.reader += bytes(cache, key).await / readers.len() as f64;
        }
    }
    memory
}

/// The sum over the patterns of what a key takes on average.
async fn average(cache: &Cache, patterns: &[&str]) -> f64 {
    let mut sum = 0.0;
    for pattern in patterns {
        let keys: Vec<String> = cache.ask(&["KEYS", pattern]).await;
        let sample = &keys[..keys.len().min(200)];
        for key in sample {
            sum += bytes(cache, key).await / sample.len() as f64;
        }
    }
    sum
}

async fn server(cache: &Cache) -> String {
    let info: String = cache.ask(&["INFO", "server"]).await;
    let version = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
    let valkey = version("valkey_version:").map(|version| format!("Valkey {version}"));
    let redis = version("redis_version:").map(|version| format!("Redis {version}"));
    valkey.or(redis).unwrap_or_default()
}

async fn bytes(cache: &Cache, key: &str) -> f64 {
    let bytes: Option<u64> = cache.ask(&["MEMORY", "USAGE", key, "SAMPLES", "0"]).await;
    bytes.unwrap_or_default() as f64
}
