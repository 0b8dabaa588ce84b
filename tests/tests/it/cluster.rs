//! A Redis cluster with TLS, which is what ElastiCache Serverless is.

use std::env;
use std::process::Command;

use aws_config::SdkConfig;
use futures_util::future::join_all;
use roost_tests::{Client, Function, LocalCloud, RedisCluster, Target, body_of, events, skip};
use serde_json::json;
use shared::Roost;
use shared::domain::timeline::Window;
use shared::domain::{Entry, TweetId, UserId};
use shared::platform::aws::Aws;
use shared::platform::config::Config;
use shared::platform::now_millis;
use shared::platform::redis::Redis;
use shared::stores::Timelines;
use shared::stores::timelines::{Extent, Opened};

fn config(cluster: &RedisCluster, ca_cert: &str) -> Config {
    Config::from([
        ("REDIS_URL", cluster.url.as_str()),
        ("REDIS_CLUSTER", "true"),
        ("REDIS_CA_CERT", ca_cert),
        ("TIMELINE_TTL_DAYS", "1"),
        ("TIMELINE_CAP", "800"),
    ])
}

fn timelines(cluster: &RedisCluster) -> Timelines {
    let config = config(cluster, &cluster.ca_cert.display().to_string());
    let aws = Aws::from(SdkConfig::builder().build());
    let roost = Roost::new(config, aws).expect("a configuration");
    Timelines::new(&roost).expect("a configuration")
}

/// Gives each of these users an empty list.
async fn given_lists(timelines: &Timelines, users: &[UserId]) {
    let made = users.iter().map(|user| async {
        let token = timelines.begin_rebuild(*user).await.expect("Redis answers");
        let token = token.expect("nobody else rebuilds it");
        timelines.finish_rebuild(*user, token, &[], true).await
    });
    for made in join_all(made).await {
        assert!(made.expect("Redis answers"));
    }
}

/// Does everybody's list begin with this tweet?
async fn everybody_has(timelines: &Timelines, users: &[UserId], tweet: Entry) -> bool {
    let newest = newest_on(timelines, users).await;
    newest.iter().all(|newest| *newest == Some(tweet.tweet))
}

async fn newest_on(timelines: &Timelines, users: &[UserId]) -> Vec<Option<TweetId>> {
    let opened = users
        .iter()
        .map(|user| timelines.open(*user, Extent::Whole));
    let newest = |opened: shared::Result<Opened>| match opened.expect("Redis answers").window {
        Window::Read(source) => source.entries.first().map(|entry| entry.tweet),
        Window::Missing | Window::Building => None,
    };
    join_all(opened).await.into_iter().map(newest).collect()
}

fn people(count: u64) -> Vec<UserId> {
    (0..count)
        .map(|_| UserId::new(fastrand::u64(1..1 << 62)))
        .collect()
}

fn tweet() -> Entry {
    let now = TweetId::first_at(now_millis());
    Entry::new(now, UserId::new(1))
}

#[tokio::test]
async fn a_delivery_to_many_followers_is_one_pipeline_for_each_shard() {
    let cluster = RedisCluster::start().await;
    let timelines = timelines(&cluster);
    let people = people(300);
    given_lists(&timelines, &people).await;
    assert!(
        cluster.keys().iter().all(|keys| *keys > 50),
        "the lists are on all shards: {:?}",
        cluster.keys()
    );

    let tweet = tweet();
    let before = cluster.reads();
    assert_eq!(
        timelines
            .deliver(tweet, &people, now_millis())
            .await
            .expect("Redis answers"),
        300
    );
    let after = cluster.reads();
    let reads: Vec<_> = before.iter().zip(&after).map(|(b, a)| a - b).collect();
    assert!(
        reads.iter().all(|reads| *reads < 20),
        "about a hundred deliveries to each shard came in {reads:?} pieces"
    );
    assert!(everybody_has(&timelines, &people, tweet).await);
}

#[tokio::test]
async fn slots_that_moved_are_found_again() {
    let cluster = RedisCluster::start().await;
    let timelines = timelines(&cluster);
    let people = people(60);
    given_lists(&timelines, &people).await;
    let tweet = tweet();
    timelines
        .deliver(tweet, &people, now_millis())
        .await
        .expect("Redis answers");

    let reading = async {
        for _ in 0..20 {
            assert!(
                everybody_has(&timelines, &people, tweet).await,
                "while they move"
            );
        }
    };
    let moving = tokio::task::spawn_blocking(move || {
        cluster.move_all_slots(0, 1);
        cluster
    });
    let (cluster, ()) = tokio::join!(moving, reading);
    let cluster = cluster.expect("the slots move");
    assert_eq!(cluster.keys()[0], 0, "everything has moved");
    assert!(
        everybody_has(&timelines, &people, tweet).await,
        "after they moved"
    );
}

#[tokio::test]
async fn a_server_without_a_certificate_of_a_known_authority_is_refused() {
    let cluster = RedisCluster::start().await;
    let config = config(&cluster, "");
    let redis = Redis::new(&config).expect("a configuration");
    let said = redis
        .raw(redis::cmd("PING"))
        .await
        .expect_err("no PONG")
        .chain();
    assert!(said.contains("invalid peer certificate"), "{said}");
}

#[tokio::test]
async fn functions_post_and_read_over_a_cluster() {
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let author = cloud.client().sign_up("author").await;
    let cluster = RedisCluster::beside(cloud.client());
    let ca_cert = cluster.ca_cert.display().to_string();
    let redis = [
        ("REDIS_URL", cluster.url.as_str()),
        ("REDIS_CLUSTER", "true"),
        ("REDIS_CA_CERT", ca_cert.as_str()),
    ];
    let read = Function::start(&cloud, "home-timeline", &redis);
    let post = Function::start(&cloud, "post-tweet", &redis);
    let reading = events::http("GET", "/v1/home_timeline", &author.subject(), None);
    let post = |text: &str| {
        let body = json!({ "text": text });
        let event = events::http("POST", "/v1/tweets", &author.subject(), Some(&body));
        let answer = post.invoke(event);
        assert_eq!(answer["statusCode"], 201, "{answer}");
        answer
    };
    // A first connection may take long on a busy machine, and rate limits do not wait for it.
    read.invoke(reading.clone());
    post("connected");
    let answer = post("over a cluster");
    assert!(
        answer["headers"]["x-ratelimit-remaining"].is_string(),
        "{answer}"
    );

    let page = body_of(&read.invoke(reading), 200);
    assert_eq!(page["data"][0]["text"], "over a cluster", "{page}");
    assert_eq!(page["meta"]["complete"], true, "{page}");
    assert!(
        cluster.keys().iter().sum::<u64>() > 3,
        "{:?}",
        cluster.keys()
    );
}

/// The same tests that run against a single Redis, once more, in a process of their own.
#[tokio::test]
async fn the_stores_do_the_same_on_a_cluster() {
    if Target::is_remote() {
        skip("it runs the tests of the stores with a Redis of its own");
        return;
    }
    let roost = Client::alone().await;
    let endpoints = &roost.target().endpoints;
    let cluster = RedisCluster::beside(&roost);
    let output = Command::new(env::current_exe().expect("the running binary"))
        .args(["stores::", "--test-threads", "2"])
        .env("ROOST_URL", &endpoints.http)
        .env(
            "ROOST_DYNAMODB_URL",
            endpoints.dynamodb.as_deref().expect("a local cloud"),
        )
        .env("ROOST_REDIS_URL", &cluster.url)
        .env("ROOST_REDIS_CLUSTER", "true")
        .env("ROOST_REDIS_CA_CERT", &cluster.ca_cert)
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "local")
        .env("AWS_SECRET_ACCESS_KEY", "local")
        .output()
        .expect("the tests run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let keys = cluster.keys();
    assert!(
        keys.iter().all(|keys| *keys > 20),
        "keys on each shard: {keys:?}"
    );
    assert!(!said.contains("skipped:"), "{said}");
}
