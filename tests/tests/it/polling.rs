//! The cost of asking whether there is anything new.

use std::time::Duration;

use roost_tests::{Client, DynamoProxy, Function, RedisProxy, body_of, events};
use serde_json::{Value, json};
use shared::domain::Entry;
use shared::platform::now_millis;

use crate::isolated_stack::IsolatedStack;
use crate::stores::{someone, tweet_at};

/// Longer than a sandbox keeps feeds in memory.
const FORGOTTEN: Duration = Duration::from_millis(1_200);

/// A function, and the proxies that record what it asks of Redis and DynamoDB.
struct Watched {
    function: Function,
    redis: RedisProxy,
    dynamodb: DynamoProxy,
}

impl Watched {
    fn start(stack: &IsolatedStack, name: &str) -> Self {
        let redis = RedisProxy::before(&stack.environment["REDIS_URL"]);
        let dynamodb = DynamoProxy::start(&stack.environment["AWS_ENDPOINT_URL_DYNAMODB"]);
        let changed = [
            ("REDIS_URL", redis.url.as_str()),
            ("AWS_ENDPOINT_URL_DYNAMODB", dynamodb.url.as_str()),
        ];
        Self {
            function: Function::start_in(stack.environment.clone(), name, &changed),
            redis,
            dynamodb,
        }
    }

    /// Its answer, and what it asked of Redis in each round trip. It must not ask the tables, nor for any tweet's text
    /// or author's card.
    fn invoke_cheaply(&self, event: &Value) -> (Value, Vec<String>) {
        self.redis.take_round_trips();
        self.dynamodb.take();
        let answer = self.function.invoke(event.clone());
        let tables = self.dynamodb.take();
        assert!(tables.is_empty(), "it asks the tables: {tables:#?}");
        let round_trips = self.redis.take_round_trips();
        for asked in &round_trips {
            for card in ["tweet", "profile"] {
                let words: Vec<&str> = asked.split("\r\n").collect();
                // A command, the length of its key, and the key.
                let hydrates = words
                    .windows(3)
                    .any(|three| three[0] == "GET" && three[2].starts_with(card));
                assert!(!hydrates, "it hydrates: {asked}");
            }
        }
        (answer, round_trips)
    }
}

#[tokio::test]
async fn asking_for_news_costs_two_or_three_round_trips_and_a_304_no_hydration() {
    let Some(stack) = IsolatedStack::beside(Client::shared().await).await else {
        return;
    };
    let (me, authors) = (someone(), [(); 30].map(|()| someone().get()));
    let subject = format!("test|polling|{me}");
    stack
        .tables
        .add_subjects(&[(subject.clone(), me.get())])
        .await;
    stack.tables.add_profiles(&authors).await;
    stack.tables.add_following(me.get(), &authors).await;
    // Every third one is pulled.
    for celebrity in authors.iter().step_by(3) {
        stack.tables.make_celebrity(*celebrity).await;
    }
    let newest = now_millis() - 60_000;
    let tweets: Vec<(u64, u64)> = (0..90)
        .map(|n| {
            (
                authors[n as usize % 30],
                tweet_at(newest - n * 1_000, 0).get(),
            )
        })
        .collect();
    stack.tables.add_tweets(&tweets).await;

    let news = Watched::start(&stack, "home-timeline-new");
    let asking = |since: u64| {
        let path = format!("/v1/home_timeline/new?since={since}");
        events::http_request("GET", &path, &subject)
    };
    let pages = Watched::start(&stack, "home-timeline");
    let reading = events::http_request("GET", "/v1/home_timeline?limit=20", &subject);
    // The first request to each looks the caller up, and fills what is missing.
    let first = pages.function.invoke(reading.clone());
    assert_eq!(first["statusCode"], 200, "{first}");
    news.function.invoke(asking(tweets[50].1));

    for (pause, news_to_count) in [(Duration::ZERO, &[0, 1, 40, 89][..]), (FORGOTTEN, &[40])] {
        for &new in news_to_count {
            std::thread::sleep(pause);
            let (answer, round_trips) = news.invoke_cheaply(&asking(tweets[new].1));
            let body = body_of(&answer, 200);
            assert_eq!(body["count"], json!(new), "{body}");
            assert_eq!(body["complete"], json!(true), "{body}");
            // The third looks whether new tweets of celebrities were deleted.
            let most = if new > 0 { 3 } else { 2 };
            assert!(
                !round_trips.is_empty() && round_trips.len() <= most,
                "{} round trips for {new} new tweets: {round_trips:#?}",
                round_trips.len()
            );
        }
        let mut again = reading.clone();
        again["headers"]["if-none-match"] = first["headers"]["etag"].clone();
        let (answer, round_trips) = pages.invoke_cheaply(&again);
        assert_eq!(answer["statusCode"], 304, "{answer}");
        assert!(
            !round_trips.is_empty() && round_trips.len() <= 3,
            "{} round trips for a 304: {round_trips:#?}",
            round_trips.len()
        );
    }
}

#[tokio::test]
async fn a_tweet_that_a_celebrity_deleted_is_no_news() {
    let Some(stack) = IsolatedStack::beside(Client::shared().await).await else {
        return;
    };
    let (me, celebrity, friend) = (someone(), someone(), someone());
    let authors = [celebrity.get(), friend.get()];
    stack.tables.add_profiles(&authors).await;
    stack.tables.add_following(me.get(), &authors).await;
    stack.tables.make_celebrity(celebrity.get()).await;
    let newest = now_millis() - 60_000;
    let tweets: Vec<Entry> = (0..6)
        .map(|n| {
            let author = [celebrity, friend][n as usize % 2];
            Entry::new(tweet_at(newest - n * 1_000, 0), author)
        })
        .collect();
    let rows = tweets.iter();
    let rows: Vec<(u64, u64)> = rows
        .map(|tweet| (tweet.author.get(), tweet.tweet.get()))
        .collect();
    stack.tables.add_tweets(&rows).await;
    let (home, since) = (stack.home(), tweets[5].tweet);
    // The first request fills what is missing, and the second one is answered from Redis.
    for _ in 0..2 {
        assert_eq!(home.news(me, since).await.count, 5);
    }

    // The newest is the celebrity's. The stream has not told the feed yet.
    let buried = stack.stores.cards().bury(tweets[0]).await;
    buried.expect("Redis answers");

    let news = home.news(me, since).await;
    assert_eq!((news.count, news.newest), (4, Some(tweets[1].tweet)));
}
