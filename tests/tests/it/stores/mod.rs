//! The stores of `shared`, called themselves, against a real Redis and a real DynamoDB API.
//!
//! They run beside the functions of a local cloud, which read what is written here. Every test makes up ids that nobody
//! else has, so neither is in the other's way.

mod cards;
mod celebs;
mod counts;
mod excluded;
mod feeds;
mod follows;
mod hidden;
mod identities;
mod live;
mod presence;
mod rate_limits;
mod relations;
mod table_merge;
mod timelines;
mod tweets;
mod users;

use std::env;

use aws_config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::config::Credentials;
use redis::{Cmd, FromRedisValue, from_redis_value};
use roost_tests::{Client, Target, skip};
use shared::domain::{DisplayName, Entry, Handle, TweetId, UserId};
use shared::platform::aws::Aws;
use shared::platform::config::Config;
use shared::platform::now_millis;
use shared::stores::timelines::Extent;
use shared::stores::users::{SignUp, UserRow};
use shared::stores::{
    Cards, Celebs, Counts, Excluded, Feeds, Followers, Following, Follows, Hidden, IdempotencyKeys,
    Ids, Reactions, Relations, Timelines, Tweets, UserCounts, Users,
};
use shared::{Result, Roost};

/// How many entries a list keeps here.
const CAP: usize = 800;

/// A week: longer than any list of these tests reaches back.
const WEEK_MS: u64 = 7 * 24 * 3_600_000;

pub(crate) struct Stores {
    /// What every store is made from.
    pub(crate) roost: Roost,
    /// Keeps the deployment, and the turn to use it.
    pub(crate) client: Client,
}

impl Stores {
    /// `None` if tables or Redis are out of reach; then it says that the test is skipped.
    pub(crate) async fn of_shared() -> Option<Self> {
        let client = Client::shared().await;
        let stack = client.target().stack.clone();
        Self::of(client, &stack).await
    }

    /// The same on the tables whose names begin with `stack`.
    pub(crate) async fn of(client: Client, stack: &str) -> Option<Self> {
        let endpoints = &client.target().endpoints;
        let (Some(dynamodb), Some(redis)) = (&endpoints.dynamodb, &endpoints.redis) else {
            skip("it calls the stores, and there is no ROOST_DYNAMODB_URL or no ROOST_REDIS_URL");
            return None;
        };
        let mut sdk = aws_config::defaults(BehaviorVersion::latest()).endpoint_url(dynamodb);
        if !Target::is_remote() {
            sdk = sdk
                .region(Region::new("us-east-1"))
                .credentials_provider(Credentials::new("local", "local", None, None, "tests"));
        }
        let table = |name| format!("{stack}-{name}");
        let named = |variable| env::var(variable).unwrap_or_default();
        let config = Config::from([
            ("REDIS_URL", redis.as_str()),
            ("REDIS_CLUSTER", named("ROOST_REDIS_CLUSTER").as_str()),
            ("REDIS_CA_CERT", named("ROOST_REDIS_CA_CERT").as_str()),
            ("USERS_TABLE", table("users").as_str()),
            ("FOLLOWERS_TABLE", table("followers").as_str()),
            ("FOLLOWING_TABLE", table("following").as_str()),
            ("RELATIONS_TABLE", table("relations").as_str()),
            ("TWEETS_TABLE", table("tweets").as_str()),
            ("REACTIONS_TABLE", table("reactions").as_str()),
            ("REACTORS_TABLE", table("reactors").as_str()),
            ("LEDGER_TABLE", table("ledger").as_str()),
            ("PRESENCE_TABLE", table("presence").as_str()),
            ("LIVE_TABLE", table("live").as_str()),
            ("NOTICES_TABLE", table("notices").as_str()),
            ("HANDOVERS_TABLE", table("handovers").as_str()),
            ("FILLS_TABLE", table("fills").as_str()),
            ("FAN_OUT_PAGE_SIZE", "5000"),
            ("TIMELINE_TTL_DAYS", "1"),
            ("TIMELINE_CAP", CAP.to_string().as_str()),
            ("READS_PER_MINUTE", "24"),
            ("WRITES_PER_MINUTE", "0"),
        ]);
        let aws = Aws::from(sdk.load().await);
        Some(Self {
            roost: Roost::new(config, aws).expect("a Redis URL"),
            client,
        })
    }

    /// Lists that are reached by another URL of the same Redis, as by a sandbox of its own.
    fn timelines_at(&self, redis: &str) -> Timelines {
        self.timelines_of(redis, "", CAP)
    }

    /// Lists that keep so many entries.
    fn timelines_with_cap(&self, cap: usize) -> Timelines {
        let url = self.client.target().endpoints.redis.as_deref();
        let cluster = env::var("ROOST_REDIS_CLUSTER").unwrap_or_default();
        self.timelines_of(url.expect("a Redis URL"), &cluster, cap)
    }

    fn timelines_of(&self, redis: &str, cluster: &str, cap: usize) -> Timelines {
        let ca_cert = env::var("ROOST_REDIS_CA_CERT").unwrap_or_default();
        let config = Config::from([
            ("REDIS_URL", redis),
            ("REDIS_CLUSTER", cluster),
            ("REDIS_CA_CERT", ca_cert.as_str()),
            ("TIMELINE_TTL_DAYS", "1"),
            ("TIMELINE_CAP", cap.to_string().as_str()),
        ]);
        let roost = Roost::new(config, self.roost.aws.clone()).expect("a Redis URL");
        Timelines::new(&roost).expect("a configuration")
    }

    /// The URL of Redis, if it is a single server without TLS and password, which tests can stand before. `None`, after
    /// saying that the test is skipped, if not.
    fn plain_redis(&self) -> Option<String> {
        let url = self.client.target().endpoints.redis.clone()?;
        let plain = url.starts_with("redis://")
            && !url.contains('@')
            && env::var("ROOST_REDIS_CLUSTER").is_err();
        if !plain {
            skip("it stands before Redis, which needs a single server without TLS and password");
        }
        plain.then_some(url)
    }

    /// A store or flow: `stores.make(Users::new)`.
    pub(crate) fn make<T>(&self, new: impl FnOnce(&Roost) -> Result<T>) -> T {
        new(&self.roost).expect("a configuration")
    }

    pub(crate) fn timelines(&self) -> Timelines {
        self.make(Timelines::new)
    }

    pub(crate) fn hidden(&self) -> Hidden {
        self.make(Hidden::new)
    }

    pub(crate) fn excluded(&self) -> Excluded {
        self.make(Excluded::new)
    }

    pub(crate) fn reactions(&self) -> Reactions {
        self.make(Reactions::new)
    }

    pub(crate) fn relations(&self) -> Relations {
        self.make(Relations::new)
    }

    pub(crate) fn cards(&self) -> Cards {
        self.make(Cards::new)
    }

    pub(crate) fn celebs(&self) -> Celebs {
        self.make(Celebs::new)
    }

    pub(crate) fn feeds(&self) -> Feeds {
        self.make(Feeds::new)
    }

    pub(crate) fn users(&self) -> Users {
        self.make(Users::new)
    }

    fn user_counts(&self) -> UserCounts {
        self.make(UserCounts::new)
    }

    pub(crate) fn ids(&self) -> Ids {
        self.make(Ids::new)
    }

    pub(crate) fn tweets(&self) -> Tweets {
        self.make(Tweets::new)
    }

    fn idempotency_keys(&self) -> IdempotencyKeys {
        self.make(IdempotencyKeys::new)
    }

    pub(crate) fn follows(&self) -> Follows {
        self.make(Follows::new)
    }

    fn followers(&self) -> Followers {
        self.make(Followers::new)
    }

    pub(crate) fn following(&self) -> Following {
        self.make(Following::new)
    }

    fn counts(&self) -> Counts {
        self.make(Counts::new)
    }

    pub(crate) async fn redis<T: FromRedisValue>(&self, command: &Cmd) -> T {
        let redis = self.roost.redis().expect("a Redis URL");
        let answer = redis.raw(command.clone()).await.expect("Redis answers");
        from_redis_value(answer).expect("an answer of the expected type")
    }

    /// The home timeline as it is stored, markers included; empty if there is none.
    pub(crate) async fn list(&self, user: UserId) -> Vec<Entry> {
        let mut read = redis::cmd("LRANGE");
        read.arg(home_timeline(user)).arg(0).arg(-1);
        let entries: Vec<Vec<u8>> = self.redis(&read).await;
        let decode = |bytes: &Vec<u8>| Entry::from_bytes(bytes).expect("16 bytes");
        entries.iter().map(decode).collect()
    }

    /// Gives the user a list with these entries; `bottom` says that there is nothing older.
    pub(crate) async fn given_list(&self, user: UserId, entries: &[Entry], bottom: bool) {
        let timelines = self.timelines();
        let token = timelines.begin_rebuild(user).await.expect("Redis answers");
        let token = token.expect("nobody else rebuilds the list of a new user");
        let done = timelines
            .finish_rebuild(user, token, entries, bottom)
            .await
            .expect("Redis answers");
        assert!(done, "a list that nobody else knows could not be filled");
    }

    /// Followed authors who are pulled, sorted; `None` if the set is missing.
    async fn celebs_of(&self, user: UserId) -> Option<Vec<UserId>> {
        let opened = self.timelines().open(user, Extent::Whole).await;
        let mut celebs = opened.expect("Redis answers").celebs?;
        celebs.sort_unstable();
        Some(celebs)
    }

    /// A new person's row.
    async fn sign_up(&self) -> UserRow {
        let users = self.users();
        let signed_up = users
            .sign_up(
                self.new_user_id().await,
                &self.subject(),
                self.handle(),
                name(),
            )
            .await
            .expect("a sign-up");
        let SignUp::Created(user) = signed_up else {
            panic!("a new subject had a profile already");
        };
        let row = users.row(user.id).await.expect("the table answers");
        row.expect("the row of a new user")
    }

    pub(crate) async fn new_user_id(&self) -> UserId {
        UserId::new(self.ids().next().await.expect("an id"))
    }

    pub(crate) fn handle(&self) -> Handle {
        Handle::parse(&self.client.unused_handle("store")).expect("a handle")
    }

    fn subject(&self) -> String {
        format!("test|stores|{}", someone())
    }
}

fn home_timeline(user: UserId) -> String {
    format!("home_timeline:{{{user}}}")
}

pub(crate) fn name() -> DisplayName {
    DisplayName::parse("Somebody").expect("a name")
}

/// A user whom no other test knows.
pub(crate) fn someone() -> UserId {
    UserId::new(fastrand::u64(1..1 << 62))
}

/// The `n`-th tweet of a time, counted from 0.
pub(crate) fn tweet_at(millis: u64, n: u64) -> TweetId {
    TweetId::new(TweetId::first_at(millis).get() + n)
}

/// So many tweets of one author, a second apart, newest first. The newest is this many milliseconds old.
pub(crate) fn tweets_of(author: UserId, count: u64, age_ms: u64) -> Vec<Entry> {
    let newest = now_millis() - age_ms;
    // No two authors make the same id.
    let lane = author.get() % (1 << 22);
    let entry = |n| Entry::new(tweet_at(newest - n * 1_000, lane), author);
    (0..count).map(entry).collect()
}

/// Newest first.
fn sorted(entries: &[&[Entry]]) -> Vec<Entry> {
    let mut all = entries.concat();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all
}

/// Equality of long lists that says where they differ, and not all of both.
#[track_caller]
fn assert_same(actual: &[Entry], expected: &[Entry]) {
    let same = actual.iter().zip(expected).take_while(|(a, b)| a == b);
    let first = same.count();
    assert!(
        actual == expected,
        "{} entries where {} were expected; number {first} is {:?} and should be {:?}",
        actual.len(),
        expected.len(),
        actual.get(first),
        expected.get(first)
    );
}
