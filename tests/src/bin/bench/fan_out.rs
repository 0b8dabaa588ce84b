//! The fan-out with its followers out of the tables, as an invocation has it; and what it costs to ask who is connected.
//!
//! Tables and Redis are those of a local cloud. Its functions are built with the same profile and do nothing meanwhile.
//!
//! The local tables take most of the time, on the same two cores. So the fan-out is also measured with tables that take none:
//! they repeat what they have answered before. That is what Roost itself needs.

use std::time::{Duration, Instant};

use roost_tests::{LocalCloud, Target, dynamodb_by_heart};
use shared::Roost;
use shared::domain::event::FanOutPage;
use shared::domain::{Entry, FollowerRange, TweetId, UserId, tier::Tier};
use shared::flows::fan_out::FanOut;
use shared::flows::live::Announcer;
use shared::platform::aws::Aws;
use shared::platform::config::Config;
use shared::platform::now_millis;
use shared::stores::{Followers, Listeners, Timelines};

use crate::one_thread;
use crate::push::{by_server, key, users};
use crate::raw::{self, Raw, encode};
use crate::report::{Goal, Pair, Row};
use crate::stack::{port_of, sdk};

const FOLLOWERS: u64 = 5_000;
/// Followers that one query reads in the fan-out.
const QUERY: usize = 1_000;
const PAIRS: usize = 31;

pub(crate) fn measure() -> Vec<Row> {
    println!("fanout: {FOLLOWERS} followers out of the tables, {PAIRS} pairs");
    one_thread().block_on(async {
        let fan_out = Bench::prepare().await;
        let what = "fan-out with paging, one server";
        let goal = Goal::AtLeast(0.5);
        let paging = fan_out.against_raw(what, goal, &fan_out.fan_out).await;
        let what = "the same with tables that answer at once";
        let by_heart = &fan_out.by_heart;
        let by_heart = fan_out.against_raw(what, Goal::Told, by_heart).await;
        let nobody = fan_out
            .question("fan-out that asks who is connected: nobody")
            .await;
        fan_out.connect_strangers().await;
        let what = "fan-out that asks who is connected: thousands, none of them here";
        vec![paging, by_heart, nobody, fan_out.question(what).await]
    })
}

/// One author whose followers all have a list.
struct Bench {
    followers: Followers,
    timelines: Timelines,
    announcer: Announcer,
    listeners: Listeners,
    fan_out: FanOut,
    /// With tables that repeat what they have answered before.
    by_heart: FanOut,
    author: UserId,
    users: Vec<UserId>,
    redis_port: u16,
    _cloud: LocalCloud,
}

impl Bench {
    async fn prepare() -> Self {
        let cloud = LocalCloud::start(&[("WARMING_RATE", "0")]).await;
        let tables = cloud.client().tables().await.expect("tables");
        let cache = cloud.client().cache().await.expect("a Redis");
        let mut users = users(FOLLOWERS + 1);
        let author = users.remove(0);
        let ids: Vec<u64> = users.iter().map(|user| user.get()).collect();
        tables.add_followers(author.get(), &ids).await;
        cache.activate(&ids).await;
        let Target {
            endpoints, stack, ..
        } = cloud.client().target();
        let redis = endpoints.redis.clone().expect("a Redis");
        let dynamodb = endpoints.dynamodb.as_deref().expect("a DynamoDB");
        let sdk = sdk().await;
        let named = |name| format!("{stack}-{name}");
        let config = Config::from([
            ("REDIS_URL", redis.as_str()),
            ("FOLLOWERS_TABLE", named("followers").as_str()),
            ("LIVE_TABLE", named("live").as_str()),
            ("NOTICES_TABLE", named("notices").as_str()),
            ("HANDOVERS_TABLE", named("handovers").as_str()),
            // All of them are served by one invocation.
            ("FAN_OUT_PAGE_SIZE", "1000000"),
            ("TIMELINE_TTL_DAYS", "1"),
            ("TIMELINE_CAP", "800"),
        ]);
        let roost = |dynamodb: &str| {
            let sdk = sdk.to_builder().endpoint_url(dynamodb).build();
            Roost::new(config.clone(), Aws::from(sdk)).expect("a Redis URL")
        };
        let by_heart = roost(&dynamodb_by_heart(dynamodb));
        let roost = roost(dynamodb);
        let listeners = Listeners::new(&roost).expect("a configuration");
        listeners.complete().await.expect("a Redis");
        Self {
            followers: Followers::new(&roost).expect("a configuration"),
            timelines: Timelines::new(&roost).expect("a configuration"),
            announcer: Announcer::new(&roost).expect("a configuration"),
            listeners,
            fan_out: FanOut::new(&roost).expect("a configuration"),
            by_heart: FanOut::new(&by_heart).expect("a configuration"),
            author,
            users,
            redis_port: port_of(&redis),
            _cloud: cloud,
        }
    }

    /// The whole of an invocation, against raw pushes to the same lists.
    async fn against_raw(&self, what: &'static str, goal: Goal, fan_out: &FanOut) -> Row {
        let mut connections = [Raw::connect(self.redis_port)];
        let mut pairs = Vec::new();
        for round in 0..=PAIRS {
            let entry = self.entry();
            let homes = vec![0; self.users.len()];
            let commands = by_server(&homes, &self.users, |user, into| {
                encode(&[b"LPUSHX", key(user).as_bytes(), &entry.to_bytes()], into);
            });
            let limit = raw::time(&mut connections, &commands);
            let started = Instant::now();
            let page = FanOutPage {
                tweet_id: entry.tweet,
                author_id: entry.author,
                repost_of: None,
                followers: self.range(),
                tier: Tier::Normal,
                epoch: 0,
                depth: 0,
                left: None,
            };
            fan_out.deliver(page).await.expect("a page");
            let ours = started.elapsed();
            if round > 0 {
                pairs.push(Pair { ours, limit });
            }
        }
        Row::rates(
            "fanout",
            what,
            "raw pipelines",
            goal,
            self.users.len(),
            &pairs,
        )
    }

    async fn question(&self, what: &'static str) -> Row {
        let mut pairs = Vec::new();
        for round in 0..=PAIRS {
            // Which of the two is first changes, so that neither is always the one with warm caches.
            let (ours, limit) = if round % 2 == 0 {
                let ours = self.deliver(true).await;
                (ours, self.deliver(false).await)
            } else {
                let limit = self.deliver(false).await;
                (self.deliver(true).await, limit)
            };
            if round > 0 {
                pairs.push(Pair { ours, limit });
            }
        }
        let limit = "the same without asking";
        let goal = Goal::AtLeast(0.95);
        Row::rates("fanout", what, limit, goal, self.users.len(), &pairs)
    }

    /// People who follow somebody else, and signed up when the followers did.
    async fn connect_strangers(&self) {
        for user in &self.users {
            let stranger = UserId::new(user.get() + 1);
            self.listeners
                .add(stranger, now_millis())
                .await
                .expect("a Redis");
        }
    }

    /// What [`FanOut::deliver`] does with followers, with or without the question.
    async fn deliver(&self, asks: bool) -> Duration {
        let entry = self.entry();
        let started = Instant::now();
        let read = async |range: Option<FollowerRange>| match range {
            Some(range) => {
                let page = self.followers.in_range(self.author, range, QUERY).await;
                page.expect("followers")
            }
            None => Default::default(),
        };
        let push = async |users: &[UserId]| {
            let delivered = self.timelines.deliver(entry, users, now_millis()).await;
            assert_eq!(delivered.expect("a delivery"), users.len());
            if asks {
                self.announcer.to_readers(users).await.expect("an answer");
            }
        };
        let mut left = Some(self.range());
        let mut batch = read(left).await;
        while let Some(last) = batch.ids.last().copied() {
            left = left.and_then(|range| range.rest_after(last));
            left = left.filter(|_| batch.more);
            let ((), next) = tokio::join!(push(&batch.ids), read(left));
            batch = next;
        }
        started.elapsed()
    }

    fn entry(&self) -> Entry {
        Entry::new(TweetId::first_at(now_millis()), self.author)
    }

    fn range(&self) -> FollowerRange {
        let last = self.users.last().copied();
        FollowerRange::up_to(last.unwrap_or(self.author))
    }
}
