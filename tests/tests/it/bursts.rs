//! A burst: more tweets within ten seconds than a list keeps. Pages come from the list all the same, and cost no more than
//! any other page.

use std::time::{Duration, Instant};

use roost_tests::{Client, DynamoProxy, Function, RedisProxy, body_of, events, page_ids};
use serde_json::Value;
use shared::domain::{Entry, PageSize, TweetId, UserId};
use shared::platform::now_millis;

use crate::isolated_stack::IsolatedStack;
use crate::stores::{someone, tweet_at};

const AUTHORS: usize = 20;
const BEFORE: usize = 60;
const BURST: usize = 1_100;
const BURST_MS: u64 = 9_900;
/// How late a push may come, so that pushes overtake each other.
const LATE_MS: u64 = 300;
const PAGE: usize = 20;
/// What lies above the end of a list of 800 for certain, although some pushes came late.
const IN_THE_LIST: usize = 740;
const ROUND_TRIPS: usize = 3;
/// Longer than a sandbox keeps feeds in memory.
const FORGOTTEN: Duration = Duration::from_millis(1_200);

/// A reader who follows some authors and a celebrity, and the functions that answer.
struct Reading {
    stack: IsolatedStack,
    me: UserId,
    subject: String,
    authors: Vec<UserId>,
    redis: RedisProxy,
    dynamodb: DynamoProxy,
    home_timeline: Function,
    home_timeline_new: Function,
}

async fn given_a_reader() -> Option<Reading> {
    let stack = IsolatedStack::beside(Client::shared().await).await?;
    let (me, celebrity) = (someone(), someone());
    let authors: Vec<UserId> = (0..AUTHORS).map(|_| someone()).collect();
    let followed: Vec<u64> = authors
        .iter()
        .chain([&celebrity])
        .map(|it| it.get())
        .collect();
    let tables = &stack.tables;
    tables.add_profiles(&followed).await;
    tables.add_profiles(&[me.get()]).await;
    tables.add_following(me.get(), &followed).await;
    tables.make_celebrity(celebrity.get()).await;
    let subject = format!("test|burst|{me}");
    tables.add_subjects(&[(subject.clone(), me.get())]).await;
    let newest = now_millis() - 600_000;
    let before: Vec<(u64, u64)> = (0..BEFORE)
        .map(|n| {
            (
                followed[n % followed.len()],
                tweet_at(newest - 30_000 * n as u64, 0).get(),
            )
        })
        .collect();
    tables.add_tweets(&before).await;
    let redis = RedisProxy::before(&stack.environment["REDIS_URL"]);
    let dynamodb = DynamoProxy::start(&stack.environment["AWS_ENDPOINT_URL_DYNAMODB"]);
    let changed = [
        ("REDIS_URL", redis.url.as_str()),
        ("AWS_ENDPOINT_URL_DYNAMODB", dynamodb.url.as_str()),
        ("READS_PER_MINUTE", "0"),
    ];
    let function = |name| Function::start_in(stack.environment.clone(), name, &changed);
    Some(Reading {
        home_timeline: function("home-timeline"),
        home_timeline_new: function("home-timeline-new"),
        stack,
        me,
        subject,
        authors,
        redis,
        dynamodb,
    })
}

impl Reading {
    /// The tables have the tweets, and the reader's list gets them as by a fan-out. Pushes overtake each other.
    async fn burst(&self) {
        let start = now_millis() - BURST_MS;
        let entries: Vec<Entry> = (0..BURST)
            .map(|n| {
                let at = start + BURST_MS * n as u64 / BURST as u64;
                Entry::new(tweet_at(at, n as u64), self.authors[n % AUTHORS])
            })
            .collect();
        let rows = entries.iter().map(|it| (it.author.get(), it.tweet.get()));
        self.stack
            .tables
            .add_tweets(&rows.collect::<Vec<_>>())
            .await;
        let mut random = fastrand::Rng::with_seed(11);
        let mut pushes: Vec<(u64, Entry)> = entries
            .into_iter()
            .map(|entry| (entry.tweet.millis() + random.u64(..LATE_MS), entry))
            .collect();
        pushes.sort_unstable();
        let timelines = self.stack.stores.timelines();
        for (at, entry) in pushes {
            let delivered = timelines.deliver(entry, &[self.me], at).await;
            assert_eq!(delivered.expect("a delivery"), 1);
        }
    }

    fn get(&self, query: &str) -> Value {
        let path = format!("/v1/home_timeline{query}");
        let function = if query.starts_with("/new") {
            &self.home_timeline_new
        } else {
            &self.home_timeline
        };
        let answer = function.invoke(events::http_request("GET", &path, &self.subject));
        let page = body_of(&answer, 200);
        let meta = page.get("meta").unwrap_or(&page);
        assert_eq!(meta["complete"], true, "{page}");
        page
    }

    /// Every kind of page that lies within the list. Gives the tweets of the latest order, newest first.
    fn read_everything(&self) -> Vec<u64> {
        let (mut tweets, mut cursor) = (Vec::new(), String::new());
        while tweets.len() < IN_THE_LIST {
            let page = self.get(&format!("?limit={PAGE}{cursor}"));
            tweets.extend(page_ids(&page));
            let next = page["meta"]["next_cursor"].as_str().expect("another page");
            cursor = format!("&cursor={next}");
        }
        let middle = tweets[IN_THE_LIST / 2];
        let above = page_ids(&self.get(&format!("?limit={PAGE}&since_id={middle}")));
        assert_eq!(above, tweets[IN_THE_LIST / 2 - PAGE..IN_THE_LIST / 2]);
        let new = self.get(&format!("/new?since={}", tweets[50]));
        assert_eq!(new["count"], 50, "{new}");
        let ranked = self.get(&format!("?limit={PAGE}&order=ranked"));
        assert_eq!(page_ids(&ranked).len(), PAGE);
        tweets
    }

    /// The round trips to Redis of a first page whose celebrities are not remembered.
    async fn round_trips(&self, what: &str) -> usize {
        std::thread::sleep(FORGOTTEN);
        self.redis.take_round_trips();
        self.get(&format!("?limit={PAGE}"));
        let round_trips = self.redis.take_round_trips();
        let time = self.median_time().await;
        println!("{what}: {} round trips, {time:?} a page", round_trips.len());
        round_trips.len()
    }

    /// Of a first page, with nobody between it and Redis.
    async fn median_time(&self) -> Duration {
        let (home, size) = (self.stack.home(), page_size(PAGE));
        let mut times = Vec::new();
        for _ in 0..101 {
            let started = Instant::now();
            home.page(self.me, None, size, None).await;
            times.push(started.elapsed());
        }
        times.sort_unstable();
        times[50]
    }
}

fn page_size(size: usize) -> PageSize {
    PageSize::parse(&size.to_string()).expect("a size")
}

#[tokio::test]
async fn a_burst_of_1100_tweets_within_ten_seconds_sends_no_reader_to_the_tables() {
    let Some(reading) = given_a_reader().await else {
        return;
    };
    reading.get("");
    // Whom the reader is close to is looked up once in an hour.
    reading.get("?order=ranked");
    let before = reading.round_trips("before").await;
    assert!(before <= ROUND_TRIPS, "{before} round trips");

    reading.burst().await;

    reading.dynamodb.take();
    let tweets = reading.read_everything();
    let oracle = reading
        .stack
        .tables
        .home_timeline_of(reading.me.get())
        .await;
    assert_eq!(tweets, oracle[..tweets.len()]);
    // The tweets themselves are fetched once. Which they are, the list says.
    let asked = reading.dynamodb.take();
    let queries = asked.iter().filter(|it| it.starts_with("Query"));
    let queries: Vec<_> = queries.filter(|it| it.contains("-tweets\"")).collect();
    assert!(
        queries.is_empty(),
        "{} queries, {:?}",
        queries.len(),
        queries.first()
    );
    reading.read_everything();
    let asked = reading.dynamodb.take();
    assert!(
        asked.is_empty(),
        "{} requests, {:?}",
        asked.len(),
        asked.first()
    );
    let after = reading.round_trips("after").await;
    assert!(after <= ROUND_TRIPS, "{after} round trips");
}

#[tokio::test]
async fn a_walk_past_the_end_of_a_list_that_a_burst_has_cut_misses_nothing() {
    let Some(reading) = given_a_reader().await else {
        return;
    };
    reading.get("");
    reading.burst().await;
    let oracle = reading
        .stack
        .tables
        .home_timeline_of(reading.me.get())
        .await;
    assert_eq!(oracle.len(), BEFORE + BURST);
    let home = reading.stack.home();
    for size in [7, 100] {
        let (mut walked, mut below) = (Vec::new(), None);
        loop {
            let page = home.page(reading.me, below, page_size(size), None).await;
            assert!(page.troubles.is_empty(), "{:?}", page.troubles);
            let places = page.tweets.iter().map(|it| it.place.tweet);
            walked.extend(places.map(TweetId::get));
            below = walked.last().copied().map(TweetId::new);
            if !page.more {
                break;
            }
        }
        assert!(walked == oracle, "pages of {size}: {} tweets", walked.len());
    }
}
