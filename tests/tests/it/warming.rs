//! That somebody reads is noted once an hour, and a lost cache comes back for those who are likely to come, at a bounded
//! rate (I8, I11).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use roost_tests::{
    Cache, Client, DynamoGate, DynamoProxy, Function, LocalCloud, Method, PATIENCE, SENTINEL, User,
    body_of, events, eventually, expect_equal, keys, page_ids,
};
use serde_json::Value;
use shared::platform::now_millis;

use crate::isolated_stack::IsolatedStack;
use crate::stores::{someone, tweet_at};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Authors that one expected user follows, of so many.
const FOLLOWED: usize = 4;
const AUTHORS: usize = 40;
const TWEETS_OF_ONE: usize = 20;

const USERS: usize = 10_000;
const EXPECTED: usize = 1_000;
/// How many of them read afterwards.
const SAMPLE: usize = 20;

/// A run may last this long on a busy machine.
const RUN: Duration = Duration::from_secs(60);

/// A rate that keeps nobody waiting.
const NO_LIMIT: &str = "1000000";

/// When somebody read who is expected now, so many days later. They are expected for half an hour at least, also if an hour
/// turns meanwhile.
fn read_days_ago(days: u64) -> u64 {
    now_millis() + HOUR_MS / 2 - days * DAY_MS
}

/// A user who has a list or should get one.
struct Reader {
    id: u64,
    subject: String,
    /// All tweets of their timeline, newest first.
    expected: Vec<u64>,
}

/// People who follow some authors each.
async fn given_readers(stack: &IsolatedStack, count: usize) -> Vec<Reader> {
    let authors: Vec<u64> = (0..AUTHORS).map(|_| someone().get()).collect();
    stack.tables.add_profiles(&authors).await;
    let newest = now_millis() - 60_000;
    let tweets: Vec<(u64, u64)> = (0..AUTHORS * TWEETS_OF_ONE)
        .map(|n| {
            let tweet = tweet_at(newest - 1_000 * n as u64, 0);
            (authors[n % AUTHORS], tweet.get())
        })
        .collect();
    stack.tables.add_tweets(&tweets).await;
    let mut edges = Vec::new();
    let mut readers = Vec::new();
    for n in 0..count {
        let id = someone().get();
        let followed: BTreeSet<u64> = (0..FOLLOWED)
            .map(|k| authors[(n + 7 * k) % AUTHORS])
            .collect();
        assert_eq!(followed.len(), FOLLOWED);
        edges.extend(followed.iter().map(|author| (id, *author)));
        let seen = tweets
            .iter()
            .filter(|(author, _)| followed.contains(author));
        readers.push(Reader {
            id,
            subject: format!("test|warming|{id}"),
            expected: seen.map(|(_, tweet)| *tweet).collect(),
        });
    }
    stack.tables.add_following_only(&edges).await;
    let ids: Vec<u64> = readers.iter().map(|reader| reader.id).collect();
    stack.tables.add_profiles(&ids).await;
    let subjects: Vec<_> = readers
        .iter()
        .map(|reader| (reader.subject.clone(), reader.id))
        .collect();
    stack.tables.add_subjects(&subjects).await;
    readers
}

fn start(stack: &IsolatedStack, function: &str, changed: &[(&str, &str)]) -> Function {
    Function::start_in(stack.environment.clone(), function, changed)
}

fn warm(function: &Function) {
    let answer = function.invoke_within(events::scheduled(), RUN);
    assert_eq!(answer, Value::Null, "{answer}");
}

fn page_of(function: &Function, reader: &Reader) -> Vec<u64> {
    let event = events::http_request("GET", "/v1/home_timeline?limit=20", &reader.subject);
    page_ids(&body_of(&function.invoke(event), 200))
}

/// The users who have a key that begins so.
async fn owners(cache: &Cache, beginning: &str) -> BTreeSet<u64> {
    let keys: Vec<String> = cache.ask(&["KEYS", &format!("{beginning}:*")]).await;
    let owner = |key: &String| {
        let (_, id) = key.split_once('{')?;
        id.trim_end_matches('}').parse().ok()
    };
    keys.iter().filter_map(owner).collect()
}

/// How many of these have a list.
async fn count_lists(cache: &Cache, readers: &[Reader]) -> usize {
    let ids: Vec<u64> = readers.iter().map(|reader| reader.id).collect();
    let lists = cache.home_timelines(&ids).await;
    lists.iter().filter(|list| !list.is_empty()).count()
}

/// The tweets of a list, without the bits in front that say how each came there.
fn tweets_in(list: &[Vec<u8>]) -> Vec<u64> {
    let tweet = |entry: &Vec<u8>| {
        let id: [u8; 8] = entry[..8].try_into().expect("an entry begins with an id");
        u64::from_be_bytes(id) & (u64::MAX >> 1)
    };
    list.iter().map(tweet).collect()
}

fn count_lines(function: &Function, text: &str) -> usize {
    let log = function.log();
    log.iter().filter(|line| line.contains(text)).count()
}

fn presence_writes(proxy: &DynamoProxy) -> usize {
    let asked = proxy.take();
    let writes = asked
        .iter()
        .filter(|text| text.starts_with("PutItem") && text.contains("-presence\""));
    writes.count()
}

#[tokio::test]
async fn reading_again_and_again_in_an_hour_writes_one_row() {
    let Some(stack) = IsolatedStack::beside(Client::shared().await).await else {
        return;
    };
    let readers = given_readers(&stack, 1).await;
    let [reader] = readers.as_slice() else {
        panic!("one reader")
    };
    let proxy = DynamoProxy::start(&stack.environment["AWS_ENDPOINT_URL_DYNAMODB"]);
    let changed = [("AWS_ENDPOINT_URL_DYNAMODB", proxy.url.as_str())];
    let home = start(&stack, "home-timeline", &changed);
    let before = now_millis();

    // On a busy machine the first write may take longer than a page waits for it. Then a read after ten seconds does it.
    let rows = eventually(PATIENCE, "the visit is noted", || async {
        assert_eq!(page_of(&home, reader), reader.expected[..20]);
        let rows = stack.tables.presence_of(reader.id).await;
        expect_equal("noted", rows.is_empty(), false).map(|()| rows)
    })
    .await;
    for _ in 0..5 {
        page_of(&home, reader);
    }

    let hours = 1 + now_millis() / HOUR_MS - before / HOUR_MS;
    assert_eq!(presence_writes(&proxy) as u64, hours);
    let (slot, expires_at) = &rows[0];
    assert!(slot.starts_with("20") && slot.contains('#'), "{slot}");
    let lives_ms = expires_at * 1_000 - before;
    assert!((7 * DAY_MS..=8 * DAY_MS + HOUR_MS).contains(&lives_ms));

    // Somebody without a profile leaves nothing, and neither does anybody while Redis is gone or warming is off.
    let stranger = events::http_request("GET", "/v1/home_timeline", "test|warming|nobody");
    assert_eq!(home.invoke(stranger)["statusCode"], 403);
    assert_eq!(presence_writes(&proxy), 0);
    let off = [changed[0], ("WARMING_RATE", "0")];
    let no_redis = [changed[0], ("REDIS_URL", "redis://127.0.0.1:1")];
    let other = &given_readers(&stack, 1).await[0];
    for changed in [off, no_redis] {
        let home = start(&stack, "home-timeline", &changed);
        assert_eq!(page_of(&home, other), other.expected[..20]);
        assert_eq!(presence_writes(&proxy), 0, "{changed:?}");
    }
}

#[tokio::test]
async fn of_ten_thousand_users_a_lost_cache_comes_back_for_the_thousand_who_are_expected() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let Some(stack) = IsolatedStack::beside(cloud.client().clone()).await else {
        return;
    };
    let readers = given_readers(&stack, EXPECTED).await;
    let others: Vec<u64> = (EXPECTED..USERS).map(|_| someone().get()).collect();
    stack.tables.add_profiles(&others).await;
    // Some read yesterday, some a week ago, some on both days. The others read, too, but never at this hour.
    let reads = readers.iter().enumerate().flat_map(|(n, reader)| {
        let days = [&[1][..], &[7], &[1, 7]][n % 3];
        days.iter().map(|days| (reader.id, read_days_ago(*days)))
    });
    let elsewhere = others.iter().enumerate().map(|(n, other)| {
        let hours = 3 + n as u64 % 18;
        (*other, read_days_ago(1) + hours * HOUR_MS)
    });
    let reads: Vec<(u64, u64)> = reads.chain(elsewhere).collect();
    stack.tables.add_presence(&reads).await;
    let proxy = DynamoProxy::start(&stack.environment["AWS_ENDPOINT_URL_DYNAMODB"]);
    let through_proxy = ("AWS_ENDPOINT_URL_DYNAMODB", proxy.url.as_str());
    let changed = [through_proxy, ("WARMING_RATE", NO_LIMIT)];
    let warmer = start(&stack, "warm-timelines", &changed);
    cache.flush().await;

    let started = Instant::now();
    let mut runs = 0;
    while count_lists(&cache, &readers).await < EXPECTED {
        runs += 1;
        assert!(runs <= 3, "{runs} runs: {}", warmer.output());
        warm(&warmer);
    }
    let took = started.elapsed();

    let asked = proxy.take();
    let mut by_operation: BTreeMap<&str, usize> = BTreeMap::new();
    for text in &asked {
        let operation = text.split(|c: char| !c.is_alphanumeric()).next();
        *by_operation
            .entry(operation.unwrap_or_default())
            .or_default() += 1;
    }
    println!(
        "{EXPECTED} of {USERS} users warmed in {runs} runs, {took:?}, {:.2} ms each; {:.2} calls of tables each: \
         {by_operation:?}",
        took.as_secs_f64() * 1e3 / EXPECTED as f64,
        asked.len() as f64 / EXPECTED as f64
    );
    let ids: BTreeSet<u64> = readers.iter().map(|reader| reader.id).collect();
    for kind in ["home_timeline", "my_celebs", "warmed"] {
        assert!(owners(&cache, kind).await == ids, "{kind} of others");
    }
    let in_order: Vec<u64> = readers.iter().map(|reader| reader.id).collect();
    let lists = cache.home_timelines(&in_order).await;
    for (reader, list) in readers.iter().zip(&lists) {
        let (end, entries) = list.split_last().expect("a list");
        assert_eq!(end, &SENTINEL, "nothing is left to fill");
        assert_eq!(tweets_in(entries), reader.expected, "of {}", reader.id);
    }
    let key = keys::home_timeline(readers[0].id);
    let lives: u64 = cache.ask(&["TTL", &key]).await;
    assert!((29 * 86_400..=30 * 86_400).contains(&lives), "{lives}");
    // Of each: the newest tweets of authors and reader, who is followed, and authors' tiers. Of ten at once: profiles, and the
    // position. Of each run: 64 slots, and the position.
    let bound = (FOLLOWED + 3) * EXPECTED + EXPECTED / 10 * 2 + runs * (64 + 4);
    assert!(
        asked.len() <= bound,
        "{} calls: {by_operation:?}",
        asked.len()
    );

    // What the first pages of some of them ask of the tables, in a new sandbox.
    let first_pages = || {
        let home = start(&stack, "home-timeline", &[through_proxy]);
        for reader in readers.iter().step_by(EXPECTED / SAMPLE) {
            assert_eq!(page_of(&home, reader), reader.expected[..20]);
        }
        proxy.take()
    };
    let warmed = first_pages();
    let reads_lists = |text: &&String| {
        let tables = ["-following\"", "-tweets\""];
        text.starts_with("Query") && tables.iter().any(|table| text.contains(table))
    };
    assert_eq!(warmed.iter().find(reads_lists), None, "nothing is rebuilt");

    // Everybody has a list now.
    warm(&warmer);
    let again = proxy.take();
    assert!(again.len() <= 4 * 16 + 8, "{} calls", again.len());

    cache.flush().await;
    let cold = first_pages();
    assert!(cold.iter().any(|text| reads_lists(&text)));
    let [warmed, cold] = [warmed, cold].map(|asked| asked.len() as f64 / SAMPLE as f64);
    println!(
        "{warmed:.1} calls of tables for the first page of each, and {cold:.1} without warming"
    );
    assert!(warmed + FOLLOWED as f64 <= cold, "{warmed}, {cold}");
}

#[tokio::test]
async fn a_run_makes_as_many_lists_as_it_may_and_the_next_one_goes_on() {
    let Some(stack) = IsolatedStack::beside(Client::shared().await).await else {
        return;
    };
    let Some(cache) = stack.stores.client.cache().await else {
        return;
    };
    let readers = given_readers(&stack, 8).await;
    let reads: Vec<_> = readers
        .iter()
        .map(|reader| (reader.id, read_days_ago(7)))
        .collect();
    stack.tables.add_presence(&reads).await;

    let off = start(&stack, "warm-timelines", &[("WARMING_RATE", "0")]);
    warm(&off);
    assert_eq!(count_lists(&cache, &readers).await, 0);

    for expected in [3, 6, 8, 8] {
        // A sandbox each: what one run leaves to the next is in the table.
        let warmer = start(&stack, "warm-timelines", &[("WARMING_RATE", "3")]);
        warm(&warmer);
        assert_eq!(count_lists(&cache, &readers).await, expected);
    }
    // The round is over, so the next run begins with the first again.
    let _: u64 = cache
        .ask(&["DEL", &keys::home_timeline(readers[5].id)])
        .await;
    warm(&start(&stack, "warm-timelines", &[("WARMING_RATE", "3")]));
    assert_eq!(count_lists(&cache, &readers).await, 8);
}

#[tokio::test]
async fn one_list_that_cannot_be_made_does_not_stop_the_others() {
    let Some(stack) = IsolatedStack::beside(Client::shared().await).await else {
        return;
    };
    let Some(cache) = stack.stores.client.cache().await else {
        return;
    };
    let readers = given_readers(&stack, 5).await;
    let ghost = someone().get();
    let expected = readers.iter().map(|reader| reader.id).chain([ghost]);
    let reads: Vec<_> = expected.map(|id| (id, read_days_ago(1))).collect();
    stack.tables.add_presence(&reads).await;
    // Something that is no set stands where the hidden authors should.
    let broken = &readers[2];
    let hidden = keys::hidden(broken.id);
    let _: String = cache.ask(&["SET", &hidden, "broken", "EX", "60"]).await;

    let warmer = start(&stack, "warm-timelines", &[]);
    warm(&warmer);

    let ids: Vec<u64> = readers.iter().map(|reader| reader.id).collect();
    let lists = cache.home_timelines(&ids).await;
    for (reader, list) in readers.iter().zip(&lists) {
        let whole = list.last().is_some_and(|end| end == &SENTINEL);
        assert_eq!(whole, reader.id != broken.id);
    }
    let of_ghost = cache.home_timelines(&[ghost]).await;
    assert!(of_ghost[0].is_empty(), "somebody without a profile");
    eventually(PATIENCE, "it is reported", || async {
        expect_equal("failures", count_lines(&warmer, "\"WarmingFailures\":1"), 1)?;
        expect_equal("made", count_lines(&warmer, "\"TimelinesWarmed\":4"), 1)
    })
    .await;
}

#[tokio::test]
async fn a_warmed_list_that_is_read_is_counted_once() {
    let Some(stack) = IsolatedStack::beside(Client::shared().await).await else {
        return;
    };
    let readers = given_readers(&stack, 2).await;
    let [expected, other] = readers.as_slice() else {
        panic!("two readers")
    };
    let reads = [(expected.id, read_days_ago(1))];
    stack.tables.add_presence(&reads).await;
    warm(&start(&stack, "warm-timelines", &[]));

    let home = start(&stack, "home-timeline", &[]);
    for reader in [other, expected, expected, other, expected] {
        assert_eq!(page_of(&home, reader), reader.expected[..20]);
    }

    eventually(PATIENCE, "all reads are reported", || async {
        expect_equal("reads", count_lines(&home, "\"TimelineReads\":1"), 5)
    })
    .await;
    assert_eq!(count_lines(&home, "\"WarmedTimelinesRead\":1"), 1);
    assert_eq!(count_lines(&home, "WarmedTimelinesRead"), 1);
    assert_eq!(count_lines(&home, "timeline rebuilt"), 1, "of the other");
}

#[tokio::test]
async fn a_deleted_account_leaves_no_hour_behind_and_a_sandbox_that_remembers_it_writes_none() {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let [ada, bob, eve] = cloud.client().sign_up_each(["ada", "bob", "eve"]).await;
    let home = Function::start(&cloud, "home-timeline", &[]);
    let read = |user: &User| {
        let event = events::http_request("GET", "/v1/home_timeline", &user.subject());
        home.invoke(event)["statusCode"].clone()
    };
    assert_eq!((read(&ada), read(&bob)), (200.into(), 200.into()));
    let ages = [0, 1, 3, 7];
    let hours = ages.map(|days| now_millis() - days * DAY_MS);
    for user in [&ada, &bob] {
        tables.add_presence(&hours.map(|at| (user.id, at))).await;
    }

    // Eve reads while her account goes: the sandbox has asked whether she exists, and its write comes late.
    let dynamodb = &cloud.environment()["AWS_ENDPOINT_URL_DYNAMODB"];
    let gate = DynamoGate::start(dynamodb, |text| {
        text.starts_with("PutItem") && text.contains("-presence\"")
    });
    let changed = [("AWS_ENDPOINT_URL_DYNAMODB", gate.url.as_str())];
    let late = Function::start(&cloud, "home-timeline", &changed);
    late.begin(events::http_request(
        "GET",
        "/v1/home_timeline",
        &eve.subject(),
    ));
    gate.wait_until_held();

    for user in [&ada, &eve] {
        let delete = user.call(Method::DELETE, "/v1/users/me");
        delete.send().await.expect(204);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    gate.let_through();
    eventually(PATIENCE, "the late row is written", || async {
        expect_equal("rows", tables.presence_of(eve.id).await.len(), 1)
    })
    .await;
    drop(late);

    for user in [&ada, &eve] {
        let words = [user.id.to_string(), user.subject()];
        eventually(PATIENCE * 3, "nothing is left", || async {
            let left = tables.mentions(&words).await;
            expect_equal("items", left.len(), 0)?;
            expect_equal("keys", cache.mentions(user.id, &words).await.len(), 0)
        })
        .await;
    }
    let of_bob = tables.presence_of(bob.id).await;
    assert!(of_bob.len() >= hours.len(), "{of_bob:?}");

    // The sandbox remembers for a minute who she was.
    let active: i64 = cache.ask(&["EXISTS", &keys::active(ada.id)]).await;
    assert_eq!(active, 0);
    assert_eq!(read(&ada), 403);
    assert_eq!(tables.presence_of(ada.id).await, []);
}
