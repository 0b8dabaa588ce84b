//! What Redis holds, read and written past Roost.

use redis::aio::MultiplexedConnection;

use crate::target::Target;

/// The entry that an empty timeline consists of.
pub const SENTINEL: [u8; 16] = [0; 16];

/// A tweet as a line of a home timeline: its id and its author's, big endian.
pub fn entry(tweet: u64, author: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&tweet.to_be_bytes());
    bytes[8..].copy_from_slice(&author.to_be_bytes());
    bytes
}

fn home_timeline(user: u64) -> String {
    format!("home_timeline:{{{user}}}")
}

#[derive(Clone, Debug)]
pub struct Cache(MultiplexedConnection);

impl Cache {
    pub(crate) async fn of(target: &Target) -> Option<Self> {
        let client = redis::Client::open(target.endpoints.redis.as_deref()?).expect("a Redis URL");
        Some(Self(
            client
                .get_multiplexed_async_connection()
                .await
                .expect("Redis answers"),
        ))
    }

    pub async fn flush(&self) {
        redis::cmd("FLUSHALL")
            .exec_async(&mut self.0.clone())
            .await
            .expect("FLUSHALL");
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

    /// The lists of these users as they are; empty where there is none.
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
}
