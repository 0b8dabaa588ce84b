//! Redis hangs, or dies and comes back empty. Readers still get right answers in time, and a page says if it may be
//! incomplete.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use roost_tests::{
    LocalCloud, PATIENCE, User, eventually, expect_equal, expect_followers, expect_oracle,
    given_reader, in_parallel, keys, page_ids, stretched,
};
use serde_json::json;

/// The process id of the Redis that answers at this URL; `None` if none answers.
pub(crate) fn redis_process(url: &str) -> Option<String> {
    let address = url.trim_start_matches("redis://").trim_end_matches('/');
    let mut connection = TcpStream::connect(address).ok()?;
    connection
        .set_read_timeout(Some(Duration::from_secs(1)))
        .ok()?;
    connection.write_all(b"INFO server\r\nQUIT\r\n").ok()?;
    let mut server = String::new();
    connection.read_to_string(&mut server).ok()?;
    let id = server
        .lines()
        .find_map(|line| line.strip_prefix("process_id:"));
    id.map(|id| id.trim().to_owned())
}

/// Ends a process as a crash would.
pub(crate) fn kill(pid: &str) {
    let status = Command::new("sh")
        .args(["-c", "kill -s KILL \"$0\"", pid])
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "kill -s KILL {pid}"
    );
}

/// What readers were answered while something happened to Redis.
#[derive(Debug, Default)]
struct Answers {
    complete: usize,
    incomplete: usize,
    slowest: Duration,
}

/// How long an answer may take, whatever Redis does.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// How soon pages must be complete again once Redis is back.
const NORMAL_WITHIN: Duration = Duration::from_secs(2);

/// How long Redis does not answer.
const OUTAGE: Duration = Duration::from_secs(10);

/// Several devices read until told to stop. Every answer must be a 200 in time with the right tweets on it.
async fn keep_reading(reader: &User, expected: &[u64], stop: &Cell<bool>) -> Answers {
    let device = async || {
        let mut answers = Answers::default();
        while !stop.get() {
            let asked = Instant::now();
            let answer = reader.get("/v1/home_timeline?limit=10").await;
            answers.slowest = answers.slowest.max(asked.elapsed());
            let page = answer.expect(200).json();
            let shown = page_ids(&page);
            assert_eq!(shown, expected[..10], "the tables have all of it");
            if page["meta"]["complete"] == true {
                answers.complete += 1;
            } else {
                assert_eq!(page["meta"]["reasons"], json!(["cache_unavailable"]));
                answers.incomplete += 1;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        answers
    };
    let answers = join_all((0..3).map(|_| device())).await;
    let all = answers.into_iter().reduce(|a, b| Answers {
        complete: a.complete + b.complete,
        incomplete: a.incomplete + b.incomplete,
        slowest: a.slowest.max(b.slowest),
    });
    let all = all.expect("three devices");
    println!("{all:?}");
    assert!(
        all.slowest < stretched(ANSWER_WITHIN),
        "an answer took {:?}",
        all.slowest
    );
    all
}

/// Reads while `work` is under way.
async fn read_during(reader: &User, expected: &[u64], work: impl Future<Output = ()>) -> Answers {
    let stop = Cell::new(false);
    let working = async {
        work.await;
        stop.set(true);
    };
    tokio::join!(keep_reading(reader, expected, &stop), working).0
}

/// Redis is back: pages are complete soon, and stay so.
async fn expect_normal(reader: &User, expected: &[u64]) {
    eventually(NORMAL_WITHIN, "pages are complete again", || async {
        // As many at once as there were readers, so that no sandbox is left out.
        let pages = in_parallel(3, (0..6).map(|_| reader.newest())).await;
        let incomplete = pages.iter().filter(|page| !page.meta.complete).count();
        expect_equal("incomplete pages", incomplete, 0)
    })
    .await;
    let after = tokio::time::sleep(Duration::from_secs(1));
    let answers = read_during(reader, expected, after).await;
    assert_eq!(answers.incomplete, 0, "incomplete although Redis is back");
}

#[tokio::test]
async fn a_redis_that_hangs_costs_neither_errors_nor_seconds() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let (reader, _, posted) = given_reader(cloud.client(), 30).await;
    let before = tokio::time::sleep(Duration::from_millis(500));
    let answers = read_during(&reader, &posted, before).await;
    assert_eq!(answers.incomplete, 0, "incomplete although Redis answers");

    let hanging = cache.stop_server().await;
    let answers = read_during(&reader, &posted, tokio::time::sleep(OUTAGE)).await;
    drop(hanging);
    assert_eq!(answers.complete, 0, "complete although Redis hangs");
    assert!(
        answers.incomplete > 50,
        "only {} answers in {OUTAGE:?}",
        answers.incomplete
    );

    expect_normal(&reader, &posted).await;
}

/// So that no test finds what another one has left.
#[tokio::test]
async fn a_redis_of_the_local_cloud_comes_back_empty_although_it_was_saved() {
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let cache = cloud.client().cache().await.expect("a Redis");
    let _: String = cache.ask(&["SET", "left", "behind"]).await;
    let _: String = cache.ask(&["SAVE"]).await;
    let url = cloud.environment()["REDIS_URL"].clone();
    let before = redis_process(&url).expect("a Redis that answers");
    kill(&before);
    eventually(PATIENCE, "Redis is back", || async {
        let now = redis_process(&url).ok_or("not yet".to_owned())?;
        (now != before)
            .then_some(())
            .ok_or("the old one".to_owned())
    })
    .await;
    let cache = cloud.client().cache().await.expect("a Redis");
    let left: Option<String> = cache.ask(&["GET", "left"]).await;
    assert_eq!(left, None);
}

#[tokio::test]
async fn a_redis_that_dies_and_comes_back_empty_costs_no_errors() {
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let (reader, _, posted) = given_reader(cloud.client(), 30).await;
    let url = cloud.environment()["REDIS_URL"].clone();
    // The local cloud starts it again, empty, and it dies again as soon as it answers.
    let dying = async {
        let (started, mut deaths) = (Instant::now(), 0);
        while started.elapsed() < OUTAGE {
            if let Some(redis) = redis_process(&url) {
                kill(&redis);
                deaths += 1;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        println!("{deaths} deaths");
        assert!(deaths > 3, "only {deaths} deaths");
    };
    let answers = read_during(&reader, &posted, dying).await;
    assert!(
        answers.incomplete > 0,
        "every page says that it is complete"
    );
    eventually(PATIENCE, "Redis is back", || async {
        redis_process(&url).map(drop).ok_or("not yet".to_owned())
    })
    .await;

    expect_normal(&reader, &posted).await;
    // Pages come from a list again, not only from the tables.
    let cache = cloud.client().cache().await.expect("Redis answers");
    let lists = cache.home_timelines(&[reader.id]).await;
    assert!(
        lists[0].len() > 30,
        "{} entries in the list",
        lists[0].len()
    );
}

/// The template gives a record a thousand attempts and twelve hours. So that age ends it and not the number, an attempt may
/// not be used up sooner than after this time.
const ATTEMPT: Duration = Duration::from_millis(43_200);

/// How often each record failed, by its sequence number. Every failure uses up one of the record's attempts.
fn failures(log: &str) -> BTreeMap<String, u32> {
    let mut failures = BTreeMap::new();
    for line in log.lines().filter(|line| line.contains("records failed")) {
        let (_, rest) = line.split_once("\"sequence_number\":\"").expect("a number");
        let number = rest.split('"').next().unwrap_or_default();
        *failures.entry(number.to_owned()).or_default() += 1;
    }
    failures
}

/// Redis hangs so long while people post. Then everything arrives by itself, and no record has used up more attempts than
/// it can spare.
async fn expect_outlasted(outage: Duration) {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let people = cloud.client().sign_up_many("patient", 4).await;
    for (n, user) in people.iter().enumerate() {
        user.follow(&people[(n + 1) % people.len()]).await;
        user.follow(&people[(n + 2) % people.len()]).await;
    }
    in_parallel(4, people.iter().map(User::newest)).await;

    let hanging = cache.stop_server().await;
    let (started, mut posted) = (Instant::now(), 0);
    while started.elapsed() < outage {
        people[posted % people.len()].post("meanwhile").await;
        posted += 1;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    drop(hanging);
    let back = Instant::now();
    expect_oracle(&tables, &people, 100, PATIENCE).await;

    let log = cloud.log();
    let failures = failures(&log);
    let most = failures.values().copied().max().unwrap_or_default();
    println!(
        "{posted} posts in {outage:?}, {} records failed, one of them {most} times; all right {:?} after Redis is back",
        failures.len(),
        back.elapsed()
    );
    let spare = outage.as_secs_f64() / ATTEMPT.as_secs_f64() + 1.0;
    assert!(f64::from(most) <= spare, "{most} attempts in {outage:?}");
    assert!(!log.contains("gave up"), "a batch waits for a person");
}

#[tokio::test]
async fn records_outlast_a_redis_that_hangs() {
    expect_outlasted(Duration::from_secs(15)).await;
}

#[tokio::test]
#[ignore = "it takes four minutes; the short one counts attempts instead"]
async fn records_outlast_a_redis_that_hangs_for_four_minutes() {
    expect_outlasted(Duration::from_secs(240)).await;
}

#[tokio::test]
async fn follows_are_counted_while_redis_hangs_and_redis_is_told_afterwards() {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let roost = cloud.client();
    let star = roost.sign_up("star").await;
    let fans = roost.sign_up_many("fan", 3).await;
    fans[0].follow(&star).await;
    expect_followers(&star, 1).await;
    let cached = async |count: &str| {
        let key = keys::user_counts(star.id);
        let known: Option<String> = cache.ask(&["HGET", &key, "follower_count"]).await;
        expect_equal("cached", known.as_deref(), Some(count))
    };
    eventually(PATIENCE, "the count is cached", || cached("1")).await;

    let hanging = cache.stop_server().await;
    for (fan, count) in [(&fans[1], 2), (&fans[2], 3)] {
        // Past the API, which refuses follows that it cannot show.
        tables.follow(&[fan.id], star.id).await;
        eventually(PATIENCE, "the follow is counted", || async {
            let counted = tables.counts_of(star.id).await.followers;
            expect_equal("followers", counted, count)
        })
        .await;
    }
    drop(hanging);

    eventually(PATIENCE, "Redis is told", || cached("3")).await;
    assert!(!cloud.log().contains("gave up"));
}
