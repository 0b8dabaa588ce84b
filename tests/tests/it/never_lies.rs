//! What users of feeds complain about most, each answered by a rule: what is new, gaps, read markers, and what a page
//! says when a part of the system does not answer.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hyper::Method;
use roost_tests::{
    Client, LocalCloud, PATIENCE, User, eventually, expect_equal, expect_timeline, ids,
    in_parallel, keys, newest_first, stretched,
};
use serde_json::{Value, json};

/// A reader who has read, with everything that the author posted on their timeline.
async fn reader_of(roost: &Client, tweets: usize) -> (User, User, Vec<u64>) {
    let reader = roost.sign_up("reader").await;
    let author = roost.sign_up("author").await;
    reader.follow(&author).await;
    reader.newest().await;
    let posted = ids(&newest_first(author.post_many(tweets, 1).await));
    eventually(PATIENCE, "everything has arrived", || async {
        expect_timeline(&reader.try_walk(100).await?, &posted)
    })
    .await;
    (reader, author, posted)
}

async fn news(reader: &User, since: u64) -> Value {
    let path = format!("/v1/home_timeline/new?since={since}");
    reader.get(&path).await.expect(200).json()
}

#[tokio::test]
async fn a_page_that_has_not_changed_is_answered_with_304() {
    let roost = Client::shared().await;
    let (reader, author, posted) = reader_of(&roost, 12).await;
    let page = reader.get("/v1/home_timeline?limit=5").await.expect(200);
    let tag = page.headers["etag"].to_str().expect("ASCII").to_owned();
    assert_eq!(
        page.headers["link"],
        format!(
            "</v1/home_timeline?limit=5&cursor={}>; rel=\"next\"",
            posted[4]
        )
    );
    let again = |tag: String| {
        reader
            .call(Method::GET, "/v1/home_timeline?limit=5")
            .header("if-none-match", &tag)
            .send()
    };

    let unchanged = again(tag.clone()).await.expect(304);
    assert!(unchanged.text().is_empty());

    let doomed = author.tweets(1).await.remove(0);
    author.delete(&doomed).await;
    let changed = again(tag.clone()).await.expect(200);
    assert_ne!(changed.headers["etag"].to_str().expect("ASCII"), tag);
    let tag = changed.headers["etag"].to_str().expect("ASCII").to_owned();
    again(tag.clone()).await.expect(304);

    author.post("one more").await;
    eventually(PATIENCE, "a new tweet changes the page", || async {
        match again(tag.clone()).await.status {
            200 => Ok(()),
            other => Err(format!("still {other}")),
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_new_is_counted_without_what_was_deleted() {
    let roost = Client::shared().await;
    let (reader, author, posted) = reader_of(&roost, 10).await;
    let seen = posted[3];
    assert_eq!(
        news(&reader, seen).await,
        json!({ "count": 3, "capped": false, "newest_id": posted[0].to_string(), "complete": true })
    );
    let newest = author.tweets(1).await.remove(0);
    author.delete(&newest).await;
    let after = news(&reader, seen).await;
    assert_eq!(after["count"], 2);
    assert_eq!(after["newest_id"], posted[1].to_string());
    assert_eq!(news(&reader, posted[0]).await["count"], 0);
    reader
        .get("/v1/home_timeline/new?since=x")
        .await
        .expect_problem(400);
    reader
        .get("/v1/home_timeline/new")
        .await
        .expect_problem(400);
}

#[tokio::test]
async fn the_page_above_what_was_seen_is_adjacent_to_it() {
    let Some(cloud) =
        LocalCloud::for_test(&[("CELEBRITY_THRESHOLD", "2"), ("TIER_DWELL_SECONDS", "0")]).await
    else {
        return;
    };
    let roost = cloud.client();
    let Some(cache) = roost.cache().await else {
        return;
    };
    let (reader, author, mut posted) = reader_of(roost, 30).await;
    // A celebrity among them, whose tweets are pulled.
    let celebrity = roost.sign_up("celeb").await;
    let other = roost.sign_up("other").await;
    in_parallel(2, [&reader, &other].map(|fan| fan.follow(&celebrity))).await;
    for n in 0..10 {
        posted.push(author.post(&format!("pushed {n}")).await.id);
        posted.push(celebrity.post(&format!("pulled {n}")).await.id);
    }
    posted.sort_unstable();
    let mut expected = posted.clone();
    expected.reverse();
    eventually(PATIENCE, "everything has arrived", || async {
        expect_timeline(&reader.try_walk(100).await?, &expected)
    })
    .await;

    for flush in [false, true] {
        let (mut since, mut met) = (posted[4], Vec::new());
        loop {
            if flush {
                cache.flush().await;
            }
            let path = format!("/v1/home_timeline?limit=7&since_id={since}");
            let page = reader.get(&path).await.expect(200).json();
            let mut page_ids: Vec<u64> = page["data"]
                .as_array()
                .expect("tweets")
                .iter()
                .map(|tweet| {
                    tweet["id"]
                        .as_str()
                        .expect("an id")
                        .parse()
                        .expect("a number")
                })
                .collect();
            assert!(
                page_ids.is_sorted_by(|a, b| a > b),
                "a page is newest first"
            );
            page_ids.reverse();
            met.extend(page_ids);
            match page["meta"]["next_since_id"].as_str() {
                Some(next) => since = next.parse().expect("an id"),
                None => break,
            }
        }
        assert_eq!(met, posted[5..], "upwards, each once (flushed: {flush})");
    }
    let both = format!(
        "/v1/home_timeline?since_id={}&cursor={}",
        posted[0], posted[1]
    );
    reader.get(&both).await.expect_problem(400);
}

#[tokio::test]
async fn a_read_marker_is_the_same_on_all_devices_and_shows_where_the_reader_caught_up() {
    let roost = Client::shared().await;
    let (reader, _, posted) = reader_of(&roost, 20).await;
    let marker = "/v1/home_timeline/marker";
    assert_eq!(
        reader.get(marker).await.expect(200).json(),
        json!({ "version": 0 })
    );
    let put = |id: u64, version: u64| {
        let body = json!({ "last_read_id": id.to_string(), "version": version });
        reader.call(Method::PUT, marker).json(&body).send()
    };
    let read = posted[12];
    let moved = put(read, 0).await.expect(200).json();
    assert_eq!(
        moved,
        json!({ "last_read_id": read.to_string(), "version": 1 })
    );
    put(posted[3], 0).await.expect_problem(409);
    put(posted[3], 7).await.expect_problem(409);
    assert_eq!(reader.get(marker).await.expect(200).json(), moved);
    reader
        .call(Method::PUT, marker)
        .json(&json!({ "last_read_id": "x", "version": 1 }))
        .send()
        .await
        .expect_problem(422);

    let (mut caught_up, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/home_timeline?limit=5{cursor}");
        let page = reader.get(&path).await.expect(200).json();
        caught_up.push(page["meta"]["caught_up"].as_bool().unwrap_or_default());
        let Some(next) = page["meta"]["next_cursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(
        caught_up,
        [false, false, true, false],
        "index 12 is on the third page"
    );
}

/// The process id of the Redis that answers there; `None` where none does.
fn redis_process(url: &str) -> Option<String> {
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

fn kill(name: &str, pid: &str) {
    let status = Command::new("sh")
        .args(["-c", "kill -s \"$0\" \"$1\"", name, pid])
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "kill -s {name} {pid}"
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

/// How soon all is normal once Redis is back.
const NORMAL_WITHIN: Duration = Duration::from_secs(2);

/// How long Redis is gone.
const GONE: Duration = Duration::from_secs(10);

/// Several devices read until told to stop. Every answer must be a 200 in time with the right tweets on it.
async fn keep_reading(reader: &User, expected: &[u64], stop: &Cell<bool>) -> Answers {
    let wanted: Vec<String> = expected[..10].iter().map(ToString::to_string).collect();
    let device = async || {
        let mut answers = Answers::default();
        while !stop.get() {
            let asked = Instant::now();
            let answer = reader.get("/v1/home_timeline?limit=10").await;
            answers.slowest = answers.slowest.max(asked.elapsed());
            let page = answer.expect(200).json();
            let tweets = page["data"].as_array().expect("tweets");
            let shown: Vec<&str> = tweets
                .iter()
                .map(|tweet| tweet["id"].as_str().expect("an id"))
                .collect();
            assert_eq!(shown, wanted, "the tables know all of it");
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

/// Redis is there again, and so are complete pages, soon and from now on.
async fn expect_normal(reader: &User, expected: &[u64]) {
    eventually(NORMAL_WITHIN, "pages are complete again", || async {
        // As many at once as there were readers, so that no sandbox is left out.
        let pages = in_parallel(3, (0..6).map(|_| reader.newest())).await;
        let incomplete = pages.iter().filter(|page| !page.meta.complete).count();
        roost_tests::expect_equal("incomplete pages", incomplete, 0)
    })
    .await;
    let after = tokio::time::sleep(Duration::from_secs(1));
    let answers = read_during(reader, expected, after).await;
    assert_eq!(answers.incomplete, 0, "incomplete although Redis is back");
}

#[tokio::test]
async fn a_redis_that_hangs_costs_neither_errors_nor_seconds() {
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let (reader, _, posted) = reader_of(cloud.client(), 30).await;
    let before = tokio::time::sleep(Duration::from_millis(500));
    let answers = read_during(&reader, &posted, before).await;
    assert_eq!(answers.incomplete, 0, "incomplete although all is well");

    let redis = redis_process(&cloud.environment()["REDIS_URL"]).expect("Redis answers");
    kill("STOP", &redis);
    let answers = read_during(&reader, &posted, tokio::time::sleep(GONE)).await;
    kill("CONT", &redis);
    assert_eq!(answers.complete, 0, "complete although Redis hangs");
    assert!(
        answers.incomplete > 50,
        "only {} answers in {GONE:?}",
        answers.incomplete
    );

    expect_normal(&reader, &posted).await;
}

#[tokio::test]
async fn a_redis_that_dies_and_comes_back_empty_costs_no_errors() {
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let (reader, _, posted) = reader_of(cloud.client(), 30).await;
    let url = cloud.environment()["REDIS_URL"].clone();
    // The local cloud starts it again, empty, and it dies again as soon as it answers.
    let dying = async {
        let (started, mut deaths) = (Instant::now(), 0);
        while started.elapsed() < GONE {
            if let Some(redis) = redis_process(&url) {
                kill("KILL", &redis);
                deaths += 1;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        println!("{deaths} deaths");
        assert!(deaths > 3, "only {deaths} deaths");
    };
    let answers = read_during(&reader, &posted, dying).await;
    assert!(answers.incomplete > 0, "nobody noticed");
    eventually(PATIENCE, "Redis is back", || async {
        redis_process(&url).map(drop).ok_or("not yet".to_owned())
    })
    .await;

    expect_normal(&reader, &posted).await;
    // Not only from the tables: there is a list again.
    let cache = cloud.client().cache().await.expect("Redis answers");
    let lists = cache.home_timelines(&[reader.id]).await;
    assert!(
        lists[0].len() > 30,
        "{} entries in the list",
        lists[0].len()
    );
}

#[tokio::test]
async fn a_tweet_leaves_a_receipt_of_its_delivery() {
    let Some(cloud) = LocalCloud::for_test(&[("FAN_OUT_PAGE_SIZE", "2")]).await else {
        return;
    };
    let roost = cloud.client();
    let Some(cache) = roost.cache().await else {
        return;
    };
    let author = roost.sign_up("author").await;
    let followers = roost.sign_up_many("fan", 9).await;
    in_parallel(4, followers.iter().map(|follower| follower.follow(&author))).await;
    in_parallel(4, followers[..4].iter().map(User::newest)).await;
    let tweet = author.post("a receipt, please").await;
    let key = format!("receipt:{{{}}}", tweet.id);
    eventually(PATIENCE, "everybody is on the receipt", || async {
        let [followers, deliveries, hops]: [u64; 3] = cache
            .ask::<Vec<Option<u64>>>(&["HMGET", &key, "followers", "deliveries", "hops"])
            .await
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect::<Vec<_>>()
            .try_into()
            .map_err(|_| "three fields")?;
        if (followers, deliveries) == (9, 4) && hops > 0 {
            Ok(())
        } else {
            Err(format!(
                "{followers} followers, {deliveries} deliveries, {hops} hops"
            ))
        }
    })
    .await;
}

/// How the reader's newest tweets came to their page, newest first.
async fn explained(reader: &User) -> Vec<(u64, String, Option<u64>)> {
    let page = reader
        .get("/v1/home_timeline?explain=true")
        .await
        .expect(200);
    assert!(!page.headers.contains_key("etag"));
    let page = page.json();
    let tweets = page["data"].as_array().expect("tweets").iter();
    let explained = tweets.map(|tweet| {
        let id = tweet["id"].as_str().expect("an id");
        let via = tweet["explain"]["via"].as_str().expect("an explanation");
        (
            id.parse().expect("a number"),
            via.to_owned(),
            tweet["explain"]["visible_after_ms"].as_u64(),
        )
    });
    explained.collect()
}

#[tokio::test]
async fn a_page_explains_how_each_tweet_came_to_it() {
    let Some(cloud) =
        LocalCloud::for_test(&[("CELEBRITY_THRESHOLD", "2"), ("TIER_DWELL_SECONDS", "0")]).await
    else {
        return;
    };
    let roost = cloud.client();
    let (Some(tables), Some(cache)) = (roost.tables().await, roost.cache().await) else {
        return;
    };
    let (reader, _, pushed) = reader_of(roost, 3).await;
    let newcomer = roost.sign_up("newcomer").await;
    let backfilled = newcomer.post("from before the follow").await.id;
    // Not while it is being delivered, or it would be pushed as well.
    tokio::time::sleep(stretched(Duration::from_secs(2))).await;
    reader.follow(&newcomer).await;
    let celebrity = roost.sign_up("celeb").await;
    let other = roost.sign_up("other").await;
    in_parallel(2, [&reader, &other].map(|fan| fan.follow(&celebrity))).await;
    // Until the flip has settled, a tweet is pushed as well.
    eventually(PATIENCE, "there is a celebrity", || async {
        let tier = tables.tier_of(celebrity.id).await;
        let tier = tier.map(|tier| tier.name).unwrap_or_default();
        expect_equal("tier", tier.as_str(), "celebrity")
    })
    .await;
    let pulled = celebrity.post("one write").await.id;

    let via = |id: u64, ways: &[(u64, String, Option<u64>)]| {
        let found = ways.iter().find(|(other, ..)| *other == id);
        found.map(|(_, via, visible)| (via.clone(), visible.is_some()))
    };
    let is = |way: &str, timed| Some((way.to_owned(), timed));
    eventually(PATIENCE, "every way is told", || async {
        let ways = explained(&reader).await;
        expect_equal("posted", via(pushed[0], &ways), is("pushed", true))?;
        expect_equal("followed", via(backfilled, &ways), is("backfilled", false))?;
        expect_equal("celebrity", via(pulled, &ways), is("pulled", true))
    })
    .await;

    // The list is cut as if it had grown too long: what is below comes from the tables.
    let list = keys::home_timeline(reader.id);
    let _: String = cache.ask(&["LTRIM", &list, "0", "0"]).await;
    let ways = explained(&reader).await;
    assert_eq!(via(pushed[2], &ways), is("deep", false));
    let _: i64 = cache.ask(&["DEL", &list]).await;
    let ways = explained(&reader).await;
    assert_eq!(via(pushed[2], &ways), is("rebuilt", false));
    let ways = explained(&reader).await;
    assert_eq!(via(pushed[2], &ways), is("rebuilt", false), "from the list");

    let plain = reader.get("/v1/home_timeline").await.expect(200).json();
    assert_eq!(plain["data"][0].get("explain"), None);
    reader
        .get("/v1/home_timeline?explain=yes")
        .await
        .expect_problem(400);
}
