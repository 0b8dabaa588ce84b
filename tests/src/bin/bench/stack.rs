//! A local cloud whose functions do nothing by themselves, and one reader in it.
//!
//! The tables are copies without streams, so that nothing is fanned out or counted behind a measurement. Roost's own code
//! runs in this process, or in functions that a part starts, on these tables and the cloud's Redis.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::Credentials;
use roost_tests::{Cache, DynamoProxy, Function, LocalCloud, RedisProxy, TABLES, Tables, events};
use shared::domain::{TweetId, UserId};
use shared::flows::rebuild::Rebuilds;
use shared::platform::aws::Aws;
use shared::platform::now_millis;
use shared::stores::Hidden;
use shared::{Result, Roost};
use tokio::time::Instant;

const STACK: &str = "bench";
/// The variable by which functions find the tables of a local cloud.
const DYNAMODB: &str = "AWS_ENDPOINT_URL_DYNAMODB";
/// Whom the reader follows.
pub(crate) const FOLLOWED: usize = 200;
pub(crate) const CELEBRITIES: usize = 20;
/// More tweets than a list keeps, a minute and a half apart.
const PUSHED: usize = 1_000;
const PUSHED_EVERY_MS: u64 = 90_000;
/// Each celebrity has more than a reader takes of one feed at a time.
const PULLED_EACH: usize = 60;
const PULLED_EVERY_MS: u64 = 1_200_000;
/// The newest tweet is so old that everything counts as settled.
const AGE_MS: u64 = 60_000;
/// How long a list may take to be made.
const LIST_LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Stack {
    pub(crate) tables: Tables,
    pub(crate) cache: Cache,
    pub(crate) environment: BTreeMap<String, String>,
    sdk: SdkConfig,
    _cloud: LocalCloud,
}

/// Somebody who follows [`FOLLOWED`] people and [`CELEBRITIES`] celebrities, with a list that is full.
pub(crate) struct Reader {
    pub(crate) me: UserId,
    pub(crate) subject: String,
    pub(crate) authors: Vec<UserId>,
}

impl Stack {
    pub(crate) async fn start() -> Self {
        let cloud = LocalCloud::start(&[("WARMING_RATE", "0")]).await;
        let client = cloud.client();
        let tables = client.tables().await.expect("tables");
        let tables = tables.without_streams(STACK).await;
        let fills = format!("{STACK}-timeline-fills");
        events::stream_without_consumers(client.target(), &fills).await;
        let mut environment = cloud.environment();
        for table in TABLES {
            let variable = format!("{}_TABLE", table.to_uppercase());
            environment.insert(variable, format!("{STACK}-{table}"));
        }
        environment.insert("TIMELINE_FILLS_STREAM".to_owned(), fills);
        // The cloud makes no lists in advance, but pages do what they do where lists are made in advance.
        environment.insert("WARMING_RATE".to_owned(), "100".to_owned());
        let sdk = aws_config::defaults(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "bench"));
        Self {
            tables,
            cache: client.cache().await.expect("a Redis"),
            environment,
            sdk: sdk.load().await,
            _cloud: cloud,
        }
    }

    pub(crate) fn redis_url(&self) -> &str {
        &self.environment["REDIS_URL"]
    }

    pub(crate) fn redis_port(&self) -> u16 {
        let port = self.redis_url().trim_end_matches('/').rsplit(':').next();
        port.and_then(|port| port.parse().ok())
            .expect("a URL with a port")
    }

    /// Stands before Redis and writes down what is asked.
    pub(crate) fn redis_proxy(&self) -> RedisProxy {
        RedisProxy::before(self.redis_url())
    }

    /// Stands before the tables and writes down what is asked.
    pub(crate) fn dynamodb_proxy(&self) -> DynamoProxy {
        DynamoProxy::start(&self.environment[DYNAMODB])
    }

    /// What a function of this stack would start with, apart from these variables.
    pub(crate) fn roost(&self, changed: &[(&str, &str)]) -> Roost {
        let mut variables = self.environment.clone();
        for (name, value) in changed {
            variables.insert((*name).to_owned(), (*value).to_owned());
        }
        let sdk = self.sdk.to_builder().endpoint_url(&variables[DYNAMODB]);
        let config = variables.into_iter().collect();
        Roost::new(config, Aws::from(sdk.build())).expect("a Redis URL")
    }

    /// The binary of a function, built as this one is.
    pub(crate) fn function(&self, name: &str) -> Function {
        Function::start_in(self.environment.clone(), name, &[])
    }

    pub(crate) async fn reader(&self) -> Reader {
        let someone = |_| UserId::new(fastrand::u64(1..1 << 62));
        let people: Vec<UserId> = (0..=FOLLOWED + CELEBRITIES).map(someone).collect();
        let me = people[0];
        let (authors, celebrities) = people[1..].split_at(FOLLOWED);
        let ids = |people: &[UserId]| people.iter().map(|it| it.get()).collect::<Vec<u64>>();
        self.tables.add_profiles(&ids(&people)).await;
        self.tables
            .add_following(me.get(), &ids(&people[1..]))
            .await;
        for celebrity in celebrities {
            self.tables.make_celebrity(celebrity.get()).await;
        }
        let subject = format!("bench|{me}");
        let subjects = [(subject.clone(), me.get())];
        self.tables.add_subjects(&subjects).await;
        let newest = now_millis() - AGE_MS;
        let tweet = |author: UserId, n: usize, every: u64| {
            // No two authors make the same id.
            let lane = author.mixed() % (1 << 20);
            let at = newest - every * n as u64 - author.mixed() % every;
            (author.get(), TweetId::first_at(at).get() + lane)
        };
        let pushed = (0..PUSHED).map(|n| tweet(authors[n % FOLLOWED], n, PUSHED_EVERY_MS));
        let pulled = celebrities
            .iter()
            .flat_map(|it| (0..PULLED_EACH).map(move |n| tweet(*it, n, PULLED_EVERY_MS)));
        let tweets: Vec<(u64, u64)> = pushed.chain(pulled).collect();
        self.tables.add_tweets(&tweets).await;
        let roost = self.roost(&[]);
        // Nobody was unfollowed lately. A reader who does not know that asks the tables with every page for five minutes.
        let begun = made(&roost, Hidden::new).begin_doubt(me, false).await;
        begun.expect("a Redis");
        let rebuilds = made(&roost, Rebuilds::new);
        let warmed = rebuilds.warm(me, Instant::now() + LIST_LIMIT).await;
        assert!(warmed.expect("tables and Redis"), "the list was not made");
        Reader {
            me,
            subject,
            authors: authors.to_vec(),
        }
    }
}

/// A store or a flow.
pub(crate) fn made<T>(roost: &Roost, new: impl FnOnce(&Roost) -> Result<T>) -> T {
    new(roost).expect("a configuration")
}
