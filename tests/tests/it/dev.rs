//! What the local cloud has beside the API: the page at `/`, and `/dev`, where a page sees what happens inside and breaks
//! something on purpose.

use std::cell::Cell;
use std::fs;
use std::time::Duration;

use hyper::Method;
use roost_tests::{
    LocalCloud, PATIENCE, User, eventually, expect_equal, expect_timeline, fresh_folder,
    given_reader, in_parallel, stretched,
};
use serde_json::{Value, json};
use shared::platform::now_millis;

/// What no event may contain.
const CANARY: &str = "canary-do-not-tell";

/// What runs when somebody posts, and what calls it.
const ON_THE_WAY: [(&str, &str); 4] = [
    ("post-tweet", "http"),
    ("publish-tweets", "stream"),
    ("fan-out-tweets", "stream"),
    ("fan-out-pages", "stream"),
];

fn of_type<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["type"] == kind)
}

/// The pages of a tweet's fan-out that are told of.
fn pages(events: &[Value], tweet: u64) -> Vec<&Value> {
    let id = json!(tweet.to_string());
    of_type(events, "log")
        .filter(|event| event["message"] == "fan-out page delivered")
        .filter(|event| event["fields"]["tweet_id"] == id)
        .collect()
}

fn sum(pages: &[&Value], field: &str) -> u64 {
    let numbers = pages.iter().map(|page| page["fields"][field].as_u64());
    numbers.map(|number| number.expect("a number")).sum()
}

/// What the metrics say of a fan-out.
fn deliveries(events: &[Value]) -> u64 {
    let numbers = of_type(events, "metrics").map(|event| event["metrics"]["Deliveries"].as_u64());
    numbers.flatten().sum()
}

#[tokio::test]
async fn a_post_is_told_with_every_page_of_its_fan_out_and_without_its_text() {
    let small_pages = [("FAN_OUT_PAGE_SIZE", "2")];
    let Some(cloud) = LocalCloud::for_test(&small_pages).await else {
        return;
    };
    let roost = cloud.client();
    let author = roost.sign_up("author").await;
    let followers = roost.sign_up_many("fan", 9).await;
    in_parallel(4, followers.iter().map(|follower| follower.follow(&author))).await;
    in_parallel(4, followers.iter().map(User::newest)).await;

    let mut events = cloud.events().await;
    let before = now_millis();
    let tweet = author.post(CANARY).await;
    // The end of an invocation, and what it counted, come behind what it logged.
    let everybody_has_it = |heard: &[Value]| {
        let ended = |(function, _): &(&str, &str)| {
            of_type(heard, "invocation").any(|event| event["function"] == *function)
        };
        ON_THE_WAY.iter().all(ended)
            && sum(&pages(heard, tweet.id), "followers") == 9
            && deliveries(heard) == 9
    };
    let mut heard = events
        .until("everybody has the tweet", everybody_has_it)
        .await;
    followers[0].newest().await;
    let is_read = |heard: &[Value]| {
        of_type(heard, "request").any(|event| event["route"] == "GET /v1/home_timeline")
    };
    heard.extend(events.until("somebody read", is_read).await);

    let request = of_type(&heard, "request").next().expect("a request");
    assert_eq!(request["method"], "POST");
    assert_eq!(request["route"], "POST /v1/tweets");
    assert_eq!(request["status"], 201);
    assert_eq!(request["caller"], author.subject());
    assert!(request["ms"].is_u64(), "{request}");

    for (function, source) in ON_THE_WAY {
        let mut invocations = of_type(&heard, "invocation");
        let invocation = invocations.find(|event| event["function"] == function);
        let invocation = invocation.unwrap_or_else(|| panic!("{function} did not run: {heard:#?}"));
        assert_eq!(invocation["source"], source);
        assert_eq!(invocation["ok"], true);
        assert!(invocation["cold"].is_boolean() && invocation["ms"].is_u64());
        let has_records = invocation["records"].as_u64() > Some(0);
        assert_eq!(has_records, source == "stream", "{invocation}");
    }

    // Nine followers, two at a time, by halves.
    let pages = pages(&heard, tweet.id);
    assert!(pages.len() >= 5, "{pages:#?}");
    assert_eq!(sum(&pages, "delivered"), 9);
    let depths = pages.iter().map(|page| page["fields"]["depth"].as_u64());
    assert!(depths.max() > Some(Some(1)), "{pages:#?}");
    let mut metrics = of_type(&heard, "metrics");
    assert!(metrics.any(|event| event["metrics"]["FanOutLag"].is_array()));

    for event in &heard {
        let at = event["at"].as_u64().expect("a time");
        assert!((before..=now_millis()).contains(&at), "{event}");
    }
    let signature = author.token.rsplit('.').next().expect("a signature");
    for secret in [CANARY, "eyJ", signature] {
        assert!(!events.text.contains(secret), "an event says {secret:?}");
    }
}

#[tokio::test]
async fn a_process_is_killed_on_demand_and_the_reader_sees_no_difference() {
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let kill = |body: &'static str| cloud.ask(Method::POST, "/dev/kill", body);
    kill("").await.expect(404);
    let (reader, _, tweets) = given_reader(cloud.client(), 3).await;
    reader.eventually_sees(&tweets).await;
    let mut events = cloud.events().await;

    let killed: Value = kill(r#"{"function":"home-timeline"}"#)
        .await
        .expect(200)
        .json();
    assert_eq!(killed["function"], "home-timeline");
    let pid = killed["pid"].as_u64().expect("a process");
    let left = cloud.sandboxes().await;
    assert!(left.iter().all(|sandbox| u64::from(sandbox.pid) != pid));
    let is_told = |heard: &[Value]| of_type(heard, "killed").next().is_some();
    let heard = events.until("a process was killed", is_told).await;
    let told = of_type(&heard, "killed").next().expect("it was there");
    assert_eq!(
        (&told["function"], &told["pid"]),
        (&killed["function"], &killed["pid"])
    );
    expect_timeline(&reader.walk(100).await, &tweets).expect("the same as before");
    let starts_anew = |heard: &[Value]| {
        let mut cold = of_type(heard, "invocation").filter(|event| event["cold"] == true);
        cold.any(|event| event["function"] == "home-timeline")
    };
    events.until("a new process was started", starts_anew).await;

    // Any of them, and none that is not there.
    let any = kill("{}").await.expect(200).json();
    assert!(any["function"].is_string() && any["pid"].is_u64(), "{any}");
    kill(r#"{"function":"get-marker"}"#).await.expect(404);
    kill(r#"{"function":"nobody"}"#).await.expect(404);
    kill(r#"{"function":7}"#).await.expect(400);
}

#[tokio::test]
async fn redis_is_emptied_on_demand_and_the_reader_sees_no_difference() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let (reader, _, tweets) = given_reader(cloud.client(), 3).await;
    reader.eventually_sees(&tweets).await;
    let mut events = cloud.events().await;
    cache.ask::<()>(&["SET", CANARY, "1"]).await;

    let flushed: Value = cloud
        .ask(Method::POST, "/dev/flush", "")
        .await
        .expect(200)
        .json();
    assert!(flushed["keys"].as_u64() > Some(1), "{flushed}");
    assert_eq!(cache.ask::<u64>(&["EXISTS", CANARY]).await, 0);
    let is_told = |heard: &[Value]| of_type(heard, "flushed").next().is_some();
    let heard = events.until("Redis was emptied", is_told).await;
    let told = of_type(&heard, "flushed").next().expect("it was there");
    assert_eq!(told["keys"], flushed["keys"]);
    expect_timeline(&reader.walk(100).await, &tweets).expect("the same as before");
}

#[tokio::test]
async fn a_page_of_another_site_breaks_nothing() {
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let from = |origin: &'static str, path: &'static str| {
        let headers = [("origin", origin)];
        let cloud = &cloud;
        async move {
            cloud
                .ask_with(Method::POST, path, &headers, "")
                .await
                .status
        }
    };
    for path in ["/dev/flush", "/dev/kill"] {
        assert_eq!(from("https://roost.example", path).await, 403);
        assert_eq!(from("null", path).await, 403);
        assert_ne!(from("http://localhost:5173", path).await, 403);
        assert_ne!(from("http://127.0.0.1:9000", path).await, 403);
    }
}

#[tokio::test]
async fn a_listener_hears_a_sample_of_too_much_and_how_much_they_missed() {
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let mut events = cloud.events().await;
    let made = Cell::new(0_u64);
    let (mut told, mut missed) = (0, 0);
    // Without a token, so that no function runs: more at once than is passed on in a second, until it is too much.
    while missed == 0 && made.get() < 30_000 {
        let requests = (0..1_000).map(|_| async {
            let answer = cloud.ask(Method::GET, "/v1/home_timeline", "").await;
            answer.expect(401);
            made.set(made.get() + 1);
        });
        in_parallel(16, requests).await;
        while let Some(event) = events.next_within(stretched(Duration::from_secs(2))).await {
            match event["count"].as_u64() {
                Some(count) => missed += count,
                None => told += 1,
            }
        }
    }
    assert!(missed > 0, "{} requests were not too many", made.get());
    assert!(told < made.get(), "{told} of {}", made.get());
    // A schedule may have come in between.
    assert!(told + missed >= made.get(), "{told} and {missed}");
}

#[tokio::test]
async fn everybody_who_signed_up_is_listed_with_the_most_followed_first() {
    let Some(cloud) = LocalCloud::for_test(&[("CELEBRITY_THRESHOLD", "2")]).await else {
        return;
    };
    let list = |path: &'static str| cloud.ask(Method::GET, path, "");
    assert_eq!(
        list("/dev/people").await.expect(200).json(),
        json!({ "data": [] })
    );
    let roost = cloud.client();
    let (star, fan, other) = (
        roost.sign_up("star").await,
        roost.sign_up("fan").await,
        roost.sign_up("other").await,
    );
    fan.follow(&star).await;
    other.follow(&star).await;
    star.follow(&other).await;
    eventually(PATIENCE, "the follows are counted", || async {
        let listed: Value = list("/dev/people").await.expect(200).json();
        let data = listed["data"].as_array().cloned().unwrap_or_default();
        let person = |user: &User, followers: u64, is_celebrity: bool| {
            let person = data.iter().find(|person| person["handle"] == user.handle);
            let name = person.map(|person| person["name"].clone());
            json!({
                "id": user.id.to_string(), "sub": user.subject(), "handle": user.handle, "name": name,
                "follower_count": followers, "is_celebrity": is_celebrity,
            })
        };
        let expected = [
            person(&star, 2, true),
            person(&other, 1, false),
            person(&fan, 0, false),
        ];
        expect_equal("people", data.as_slice(), &expected)
    })
    .await;
    let first: Value = list("/dev/people?limit=1").await.expect(200).json();
    assert_eq!(first["data"].as_array().map(Vec::len), Some(1));
    list("/dev/people?limit=0").await.expect(400);
}

#[tokio::test]
async fn the_settings_are_the_parameters_as_they_are_here() {
    let parameters = [("CELEBRITY_THRESHOLD", "50"), ("FAN_OUT_PAGE_SIZE", "10")];
    let Some(cloud) = LocalCloud::for_test(&parameters).await else {
        return;
    };
    let settings = cloud
        .ask(Method::GET, "/dev/settings", "")
        .await
        .expect(200)
        .json();
    assert_eq!(settings["celebrity_threshold"], 50);
    assert_eq!(settings["fan_out_page_size"], 10);
    assert_eq!(settings["demote_ratio"], 0.8);
    assert_eq!(settings["tier_policy"], "followers");
    let functions = settings["functions"].as_array().expect("functions");
    assert!(functions.contains(&json!("home-timeline")), "{functions:?}");
}

#[tokio::test]
async fn the_page_is_read_from_its_folder_and_nobody_gets_out_of_it() {
    let folder = fresh_folder();
    let web = folder.join("web");
    fs::create_dir_all(&web).expect("a folder of our own");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
    write("secret.txt", CANARY);
    write("web/index.html", "<!doctype html><title>first</title>");
    write("web/main.js", "export {};");
    let parameters = [("ROOST_WEB_DIR", web.to_str().expect("a path"))];
    let Some(cloud) = LocalCloud::for_test(&parameters).await else {
        return;
    };
    let get = |path: &'static str| cloud.ask(Method::GET, path, "");

    let page = get("/").await.expect(200);
    assert!(page.text().contains("first"));
    assert_eq!(page.content_type(), "text/html; charset=utf-8");
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(
        policy.contains("default-src 'none'; script-src 'self';"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    let script = get("/main.js?v=1").await.expect(200);
    assert_eq!(script.content_type(), "text/javascript; charset=utf-8");
    let head = cloud.ask(Method::HEAD, "/", "").await.expect(200);
    assert_eq!(
        (head.body.len(), head.header("content-length")),
        (0, Some("35"))
    );
    // An edit shows after a reload.
    write("web/index.html", "<!doctype html><title>second</title>");
    assert!(get("/").await.expect(200).text().contains("second"));

    for path in [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/web/../../secret.txt",
        "//etc/passwd",
        "/missing.js",
        "/v1/nothing",
        "/dev/nothing",
    ] {
        let answer = get(path).await.expect(404);
        let refusal = json!({ "message": "Not Found" });
        assert_eq!(answer.json(), refusal, "{path}");
    }
    cloud.ask(Method::POST, "/", "").await.expect_refusal(404);
    // Routes of the API are still its own.
    get("/v1/users/me").await.expect_refusal(401);
    // Without a page, it is said what is missing.
    fs::remove_file(web.join("index.html")).expect("the file");
    let missing = get("/").await.expect(404);
    assert!(
        missing.text().contains("index.html is missing"),
        "{}",
        missing.text()
    );
}
