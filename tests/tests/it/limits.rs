//! How much one person may ask for (I11).

use std::time::{Duration, Instant};

use hyper::Method;
use roost_tests::{
    Answer, Client, Function, LocalCloud, PATIENCE, User, body_of, events, eventually,
    expect_equal, in_parallel, keys,
};
use serde_json::json;

/// One read a second, ten at once; a write every two seconds, five at once.
const LIMITS: [(&str, &str); 2] = [("READS_PER_MINUTE", "60"), ("WRITES_PER_MINUTE", "30")];

async fn post(user: &User, text: &str) -> Answer {
    let call = user.call(Method::POST, "/v1/tweets");
    call.json(&json!({ "text": text })).send().await
}

fn number(answer: &Answer, header: &str) -> u64 {
    let value = answer.headers.get(header);
    let value = value.unwrap_or_else(|| panic!("{} has no {header}", answer.call));
    let text = value.to_str().expect("ASCII");
    text.parse().unwrap_or_else(|_| panic!("{header}: {text}"))
}

/// Waits until the second of two reads in a row is refused.
async fn expect_second_read_refused(user: &User) {
    eventually(PATIENCE, "the second of two reads is refused", || async {
        user.get("/v1/users/me").await;
        match user.get("/v1/users/me").await.status {
            429 => Ok(()),
            other => Err(format!("{other}")),
        }
    })
    .await;
}

/// Posts until a tweet is refused. Gives how many were accepted, and the refusal.
async fn post_until_refused(user: &User) -> (u64, Answer) {
    for posted in 0..50 {
        let answer = post(user, &format!("number {posted}")).await;
        if answer.status == 429 {
            return (posted, answer);
        }
        answer.expect(201);
    }
    panic!("fifty tweets in a row were accepted");
}

#[tokio::test]
async fn writes_beyond_the_limit_are_refused_at_the_documented_rate_and_only_to_the_offender() {
    let Some(cloud) = LocalCloud::for_test(&LIMITS).await else {
        return;
    };
    let roost = cloud.client();
    let [offender, bystander] = roost.sign_up_each(["flood", "other"]).await;
    let started = Instant::now();
    let (posted, refusal) = post_until_refused(&offender).await;
    let refilled = started.elapsed().as_secs() / 2 + 1;
    // Signing up took one of the five.
    assert!(
        (4..=5 + refilled).contains(&posted),
        "{posted} in {:?}",
        started.elapsed()
    );
    let wait = number(&refusal, "retry-after");
    assert!((1..=2).contains(&wait), "Retry-After: {wait}");
    assert_eq!(number(&refusal, "x-ratelimit-limit"), 5);
    assert_eq!(number(&refusal, "x-ratelimit-remaining"), 0);
    let reset = number(&refusal, "x-ratelimit-reset").saturating_sub(roost_tests::now_seconds());
    assert!((8..=11).contains(&reset), "full again in {reset} s");
    refusal.expect_kind(429, "too-many");

    // What was refused was not stored. Reads have a budget of their own. Nobody else is refused.
    let kept = offender.tweets(100).await.len();
    assert_eq!(kept, usize::try_from(posted).expect("a few"));
    let other = post(&bystander, "undisturbed").await.expect(201);
    assert!(number(&other, "x-ratelimit-remaining") >= 3);

    tokio::time::sleep(Duration::from_secs(wait)).await;
    post(&offender, "after waiting").await.expect(201);

    let started = Instant::now();
    let mut through = 0;
    while started.elapsed() < Duration::from_secs(8) {
        through += u32::from(post(&offender, "again and again").await.status == 201);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(
        (3..=5).contains(&through),
        "{through} in eight seconds, one every two is due"
    );
}

#[tokio::test]
async fn all_functions_take_reads_out_of_the_same_budget() {
    let Some(cloud) = LocalCloud::for_test(&LIMITS).await else {
        return;
    };
    let reader = cloud.client().sign_up("reader").await;
    let paths = [
        "/v1/home_timeline",
        "/v1/users/me",
        "/v1/home_timeline/marker",
    ];
    // Warm, so that what follows takes less than a refill.
    for path in paths {
        reader.get(path).await.expect(200);
    }
    tokio::time::sleep(Duration::from_secs(4)).await;
    let started = Instant::now();
    let reads = (0..15).map(|n| reader.get(paths[n % paths.len()]));
    let answers = in_parallel(3, reads).await;
    let through = answers.iter().filter(|answer| answer.status == 200).count();
    let refilled = usize::try_from(started.elapsed().as_secs()).expect("short") + 1;
    assert!(
        (10..=10 + refilled).contains(&through),
        "{through} in {:?}",
        started.elapsed()
    );
    for refused in answers.into_iter().filter(|answer| answer.status != 200) {
        assert_eq!(number(&refused, "retry-after"), 1);
        refused.expect_kind(429, "too-many");
    }
}

#[tokio::test]
async fn while_redis_is_gone_nobody_is_refused() {
    let limits = [("READS_PER_MINUTE", "6"), ("WRITES_PER_MINUTE", "6")];
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&limits).await else {
        return;
    };
    let user = cloud.client().sign_up("user").await;
    expect_second_read_refused(&user).await;

    let redis = cache.stop_server().await;
    for _ in 0..8 {
        let asked = Instant::now();
        user.get("/v1/users/me").await.expect(200);
        assert!(
            asked.elapsed() < Duration::from_secs(1),
            "{:?}",
            asked.elapsed()
        );
    }
    drop(redis);
    expect_second_read_refused(&user).await;
}

/// A reader of so many people that a page below the list costs many queries, and the newest tweet.
async fn given_reader_of_many(roost: &Client) -> (User, u64) {
    let reader = roost.sign_up("reader").await;
    let authors = roost.sign_up_many("autho", 65).await;
    in_parallel(4, authors.iter().map(|author| reader.follow(author))).await;
    in_parallel(4, authors.iter().map(|author| author.post("hello"))).await;
    let newest = reader.newest().await.data[0].id;
    (reader, newest)
}

#[tokio::test]
async fn a_page_that_costs_many_queries_costs_more_of_the_budget() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let (reader, newest) = given_reader_of_many(cloud.client()).await;
    // Below all that the list keeps, every author is asked.
    let list = keys::home_timeline(reader.id);
    let _: String = cache.ask(&["LTRIM", &list, "0", "0"]).await;

    // Two reads at once, and one every five seconds.
    let limits = [("READS_PER_MINUTE", "12")];
    let function = Function::start(&cloud, "home-timeline", &limits);
    let read = |query: &str| {
        let path = format!("/v1/home_timeline{query}");
        function.invoke(events::http("GET", &path, &reader.subject(), None))
    };
    body_of(&read(&format!("?limit=5&cursor={newest}")), 200);
    // Without the charge, a second read would be allowed, and a third after five seconds at the most. With it, the next one
    // is allowed after fifteen, less what the first one took.
    let refused = read("?limit=1");
    assert_eq!(refused["statusCode"], 429, "{refused}");
    let wait = refused["headers"]["retry-after"].as_str();
    let wait: u64 = wait.and_then(|text| text.parse().ok()).expect("seconds");
    assert!(wait > 5, "a deep page was as cheap as a warm one: {wait} s");
}

#[tokio::test]
async fn a_page_that_did_not_change_costs_what_finding_that_out_costs() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let (reader, newest) = given_reader_of_many(cloud.client()).await;
    let path = format!("/v1/home_timeline?limit=5&cursor={newest}");
    let deep = reader.get(&path).await.expect(200);
    let tag = deep.headers["etag"].to_str().expect("a tag");
    let list = keys::home_timeline(reader.id);
    let _: String = cache.ask(&["LTRIM", &list, "0", "0"]).await;

    let limits = [("READS_PER_MINUTE", "12")];
    let function = Function::start(&cloud, "home-timeline", &limits);
    let mut event = events::http("GET", &path, &reader.subject(), None);
    event["headers"]["if-none-match"] = tag.into();
    let unchanged = function.invoke(event.clone());
    assert_eq!(unchanged["statusCode"], 304, "{unchanged}");
    let refused = function.invoke(event);
    assert_eq!(refused["statusCode"], 429, "{refused}");
}

#[tokio::test]
async fn nobody_follows_more_people_than_the_limit() {
    let Some((cloud, tables, _)) = LocalCloud::with_stores(&[("FOLLOW_LIMIT", "3")]).await else {
        return;
    };
    let roost = cloud.client();
    let fan = roost.sign_up("fan").await;
    let people = roost.sign_up_many("star", 5).await;
    for person in &people[..3] {
        fan.follow(person).await;
    }
    eventually(PATIENCE, "the follows are counted", || async {
        expect_counted(tables.counts_of(fan.id).await.following)
    })
    .await;
    let follow = async |person: &User| {
        let path = format!("/v1/users/{}/follow", person.id);
        fan.call(Method::POST, &path).send().await
    };

    let refusal = follow(&people[3]).await;
    assert!(refusal.text().contains("3 at most"), "{}", refusal.text());
    refusal.expect_kind(422, "limit-reached");
    // Following somebody again is not following more people.
    follow(&people[0]).await.expect(204);
    assert_eq!(fan.following(100).await.len(), 3);

    // The count may lag behind an unfollow, and then the edges themselves decide.
    fan.unfollow(&people[0]).await;
    follow(&people[3]).await.expect(204);
    // It may lag behind a follow as well, and then one more is let through.
    eventually(PATIENCE, "both are counted", || async {
        expect_counted(tables.counts_of(fan.id).await.following)
    })
    .await;
    follow(&people[4]).await.expect_kind(422, "limit-reached");
}

fn expect_counted(following: u64) -> Result<(), String> {
    expect_equal("following", following, 3)
}
