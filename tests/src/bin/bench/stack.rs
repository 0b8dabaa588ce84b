//! A local cloud whose functions do nothing by themselves, and one reader in it.
//!
//! The tables are copies without streams, so that nothing is fanned out or counted behind a measurement. Roost's own code
//! runs in this process, or in functions that a part starts, on these tables and the cloud's Redis.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::Credentials;
use roost_tests::{Cache, DynamoProxy, Function, LocalCloud, RedisProxy, TABLES, Tables};
use shared::domain::{TweetId, UserId};
use shared::flows::rebuild::Rebuilds;
use shared::platform::aws::Aws;
use shared::platform::now_millis;
use shared::stores::Hidden;
use shared::{Result, Roost};
use tokio::time::Instant;

/// Variables by their names.
type Variables = BTreeMap<String, String>;

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
    pub(crate) environment: Variables,
    sdk: SdkConfig,
    _cloud: LocalCloud,
}

/// Somebody who follows [`FOLLOWED`] people and [`CELEBRITIES`] celebrities, with a list that is full.
pub(crate) struct Reader {
    pub(crate) me: UserId,
    pub(crate) subject: String,
    pub(crate) authors: Vec<UserId>,
    celebrities: Vec<UserId>,
}

impl Stack {
    pub(crate) async fn start() -> Self {
        let cloud = LocalCloud::start(&[("WARMING_RATE", "0")]).await;
        let client = cloud.client();
        let tables = client.tables().await.expect("tables");
        let tables = tables.without_streams(STACK).await;
        let mut environment = cloud.environment();
        for table in TABLES {
            let variable = format!("{}_TABLE", table.to_uppercase());
            environment.insert(variable, format!("{STACK}-{table}"));
        }
        // The cloud makes no lists in advance, but pages do what they do where lists are made in advance.
        environment.insert("WARMING_RATE".to_owned(), "100".to_owned());
        Self {
            tables,
            cache: client.cache().await.expect("a Redis"),
            environment,
            sdk: sdk().await,
            _cloud: cloud,
        }
    }

    pub(crate) fn redis_url(&self) -> &str {
        &self.environment["REDIS_URL"]
    }

    pub(crate) fn redis_port(&self) -> u16 {
        port_of(self.redis_url())
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
        roost(&self.sdk, variables)
    }

    /// The binary of a function, built as this one is.
    pub(crate) fn function(&self, name: &str) -> Function {
        Function::start_in(self.environment.clone(), name, &[])
    }

    pub(crate) async fn reader(&self) -> Reader {
        let people: Vec<UserId> = (0..FOLLOWED + CELEBRITIES).map(|_| someone()).collect();
        let (authors, celebrities) = people.split_at(FOLLOWED);
        self.tables.add_profiles(&numbers(&people)).await;
        for celebrity in celebrities {
            self.tables.make_celebrity(celebrity.get()).await;
        }
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
        self.follower_of(authors, celebrities).await
    }

    /// Somebody else who follows the same people.
    pub(crate) async fn reader_beside(&self, reader: &Reader) -> Reader {
        let (authors, celebrities) = (&reader.authors, &reader.celebrities);
        self.follower_of(authors, celebrities).await
    }

    async fn follower_of(&self, authors: &[UserId], celebrities: &[UserId]) -> Reader {
        let me = someone();
        self.tables.add_profiles(&[me.get()]).await;
        let followed = numbers(&[authors, celebrities].concat());
        self.tables.add_following(me.get(), &followed).await;
        let subject = format!("bench|{me}");
        let subjects = [(subject.clone(), me.get())];
        self.tables.add_subjects(&subjects).await;
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
            celebrities: celebrities.to_vec(),
        }
    }
}

fn someone() -> UserId {
    UserId::new(fastrand::u64(1..1 << 62))
}

fn numbers(people: &[UserId]) -> Vec<u64> {
    people.iter().map(|it| it.get()).collect()
}

/// What reaches a local cloud, but for the addresses.
pub(crate) async fn sdk() -> SdkConfig {
    let sdk = aws_config::defaults(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "bench"));
    sdk.load().await
}

/// What a function would start with in this environment.
pub(crate) fn roost(sdk: &SdkConfig, environment: Variables) -> Roost {
    let sdk = sdk.to_builder().endpoint_url(&environment[DYNAMODB]);
    let config = environment.into_iter().collect();
    Roost::new(config, Aws::from(sdk.build())).expect("a Redis URL")
}

pub(crate) fn port_of(url: &str) -> u16 {
    let port = url.trim_end_matches('/').rsplit(':').next();
    port.and_then(|port| port.parse().ok())
        .expect("a URL with a port")
}

/// A store or a flow.
pub(crate) fn made<T>(roost: &Roost, new: impl FnOnce(&Roost) -> Result<T>) -> T {
    new(roost).expect("a configuration")
}
