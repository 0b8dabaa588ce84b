//! What functions write: logs with a request id and without anything that is nobody's business, and metrics.

use std::collections::BTreeSet;
use std::time::Duration;

use hyper::Method;
use roost_tests::{
    Function, LiveSocket, LocalCloud, PATIENCE, User, events, eventually, expect_equal,
    expect_timeline, is_request,
};
use serde_json::{Value, json};
use shared::platform::{metrics, now_millis};

/// What no log may contain, wherever a client puts it.
const CANARY: &str = "canary-do-not-log";

/// Everything that carries a text, the right way and the wrong.
async fn say_things(user: &User) {
    user.post(&format!("{CANARY} posted")).await;
    let post = |body: String| {
        let key = ("idempotency-key", "once");
        let call = user.call(Method::POST, "/v1/tweets");
        call.header(key.0, key.1).raw(body).send()
    };
    let text = json!({ "text": format!("{CANARY} once") }).to_string();
    post(text.clone()).await.expect(201);
    post(text).await.expect(201);
    let other = json!({ "text": format!("{CANARY} twice") }).to_string();
    post(other).await.expect_problem(422);
    for wrong in [
        json!({ "text": CANARY.repeat(30) }).to_string(),
        json!({ "text": [CANARY] }).to_string(),
        json!({ "txt": CANARY }).to_string(),
        json!(CANARY).to_string(),
        format!("{{\"text\": \"{CANARY}"),
        format!("{CANARY}{{"),
    ] {
        let status = post(wrong.clone()).await.status;
        assert!((400..500).contains(&status), "{wrong}: {status}");
    }
    for wrong in [
        json!({ "handle": CANARY, "name": CANARY.repeat(10) }),
        json!({ "handle": 5, "name": [CANARY] }),
    ] {
        let call = user.call(Method::POST, "/v1/users");
        let status = call.json(&wrong).send().await.status;
        assert!((400..500).contains(&status), "{wrong}: {status}");
    }
    for path in [
        format!("/v1/tweets/{CANARY}"),
        format!("/v1/users/{CANARY}"),
        format!("/v1/users/by/handle/{CANARY}"),
        format!("/v1/home_timeline?cursor={CANARY}"),
        format!("/v1/home_timeline?limit={CANARY}"),
    ] {
        let status = user.get(&path).await.status;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
    let call = user.call(Method::PUT, "/v1/home_timeline/marker");
    let wrong = json!({ "last_read_id": "1", "version": CANARY });
    let status = call.json(&wrong).send().await.status;
    assert!((400..500).contains(&status), "{wrong}: {status}");
}

/// The metrics that a log's lines say.
fn metrics_in(log: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in log
        .lines()
        .filter(|line| line.contains("CloudWatchMetrics"))
    {
        let start = line.find('{').expect("JSON");
        let line: Value = serde_json::from_str(&line[start..]).expect("one line is one object");
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(directive["Namespace"], "Roost/roost");
        assert_eq!(directive["Dimensions"], json!([[]]));
        for metric in directive["Metrics"].as_array().expect("metrics") {
            let name = metric["Name"].as_str().expect("a name");
            assert!(!line[name].is_null(), "{name} has no value: {line}");
            names.insert(name.to_owned());
        }
    }
    names
}

#[tokio::test]
async fn no_log_line_says_a_text_or_a_token_and_every_metric_is_emitted() {
    let parameters = [
        ("LOG_LEVEL", "TRACE"),
        ("CELEBRITY_THRESHOLD", "2"),
        ("TIER_DWELL_SECONDS", "0"),
        ("WRITES_PER_MINUTE", "300"),
    ];
    let Some(cloud) = LocalCloud::for_test(&parameters).await else {
        return;
    };
    let roost = cloud.client();
    let (Some(cache), Some(tables)) = (roost.cache().await, roost.tables().await) else {
        return;
    };
    let (reader, author) = (roost.sign_up("reader").await, roost.sign_up("author").await);
    let star = roost.sign_up("star").await;
    let people = [&reader, &author, &star];
    reader.newest().await;
    reader.follow(&author).await;
    reader.follow(&star).await;
    author.follow(&star).await;
    for user in people {
        say_things(user).await;
    }
    eventually(PATIENCE, "the star is a celebrity", || async {
        let tier = tables.tier_of(star.id).await.map(|tier| tier.name);
        expect_equal("tier", tier.as_deref(), Some("celebrity"))
    })
    .await;
    star.post(&format!("{CANARY} from above")).await;
    let doomed = author.post(&format!("{CANARY} deleted")).await;
    author.delete(&doomed).await;
    // Somebody is connected, and another connection of theirs has died without a word.
    let ticket = reader.live_ticket().await;
    let mut socket = LiveSocket::open(&ticket.url).await.expect("a good ticket");
    let again = LiveSocket::open(&ticket.url).await.err();
    assert_eq!(again, Some(403), "a ticket is good once");
    tables.add_connection(reader.id, "bm9ib2R5LWhlcmU=").await;
    // A tweet gives notice itself as soon as those of connecting are old, which takes a busy machine a while.
    eventually(PATIENCE, "a tweet gives notice", || async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        author.post(&format!("{CANARY} live")).await;
        let given = metrics_in(&cloud.log()).contains("LiveNotices");
        expect_equal("a notice", given, true)
    })
    .await;
    socket.news().await;
    let expected = tables.home_timeline_of(reader.id).await;
    eventually(PATIENCE, "everything has arrived", || async {
        expect_timeline(&reader.try_walk(100).await?, &expected)
    })
    .await;
    cache.flush().await;
    expect_timeline(&reader.walk(100).await, &expected).expect("rebuilt");
    // A reader who was away for months, and wants the best first.
    let marker = json!({ "last_read_id": "1", "version": 0 });
    let call = reader.call(Method::PUT, "/v1/home_timeline/marker");
    call.json(&marker).send().await.expect(200);
    reader
        .get("/v1/home_timeline?order=ranked&include=activity")
        .await
        .expect(200);
    // She read yesterday, half an hour from now, so her list is made before she comes.
    let yesterday = now_millis() - 24 * 3_600_000 + 1_800_000;
    tables.add_presence(&[(reader.id, yesterday)]).await;
    cache.flush().await;
    roost.invoke("warm-timelines", &json!({})).await;
    expect_timeline(&reader.walk(100).await, &expected).expect("warmed");
    tables.spoil(roost.sign_up("broken").await.id).await;
    roost.invoke("reconcile-counts", &json!({})).await;
    roost.invoke("watch-cache", &json!({})).await;
    // Too many writes, and a Redis that hangs.
    let mut refused = 0;
    for n in 0..200 {
        let call = star.call(Method::POST, "/v1/tweets");
        let body = json!({ "text": format!("{CANARY} {n}") });
        refused += u32::from(call.json(&body).send().await.status == 429);
        if refused > 2 {
            break;
        }
    }
    assert!(refused > 2, "nobody was refused");
    let stopped = cache.stop_server().await;
    let degraded = reader.get("/v1/home_timeline").await.expect(200).json();
    assert_eq!(degraded["meta"]["complete"], false);
    // What must be hidden at once cannot be, so this fails, and the log says why.
    let path = format!("/v1/users/{}/follow", star.id);
    let call = author.call(Method::DELETE, &path);
    call.send().await.expect_problem(500);
    drop(stopped);
    // The audit's are emitted by the audit.
    let expected: BTreeSet<_> = metrics::ALL
        .iter()
        .filter(|name| !name.starts_with("Audit"))
        .map(|name| (*name).to_owned())
        .collect();
    // Messages keep their distance, so the dead connection may be found only now.
    eventually(PATIENCE, "every metric is emitted", || async {
        let emitted = metrics_in(&cloud.log());
        let missing: Vec<_> = expected.difference(&emitted).cloned().collect();
        expect_equal("missing metrics", missing, Vec::new())
    })
    .await;

    let log = cloud.log();
    let (requests, lines): (Vec<_>, Vec<_>) = log.lines().partition(|line| is_request(line));
    // What to type, which the local cloud shows when it is ready.
    let is_advice = |line: &str| line.starts_with("roost ") && line.contains("Bearer $TOKEN");
    let lines: Vec<_> = lines.into_iter().filter(|line| !is_advice(line)).collect();
    let by_functions: Vec<_> = lines
        .iter()
        .filter(|line| !line.starts_with("roost "))
        .collect();
    let count = by_functions.len();
    assert!(count > 100, "{count} lines prove nothing");
    let mut secrets = vec![
        CANARY.to_owned(),
        "uthorization".to_owned(),
        "Bearer".to_owned(),
        ticket.secret().to_owned(),
    ];
    for user in people {
        let token = &user.token;
        let signature = token.rsplit('.').next().expect("a signature");
        secrets.push(signature.to_owned());
    }
    for line in &lines {
        for secret in &secrets {
            assert!(!line.contains(secret), "a log line says {secret:?}: {line}");
        }
    }
    // The line of a request says what the client put into its path, and nothing else that came with it.
    for line in &requests {
        for secret in secrets.iter().filter(|secret| *secret != CANARY) {
            assert!(!line.contains(secret), "a request says {secret:?}: {line}");
        }
    }
    for line in by_functions {
        let said = line.split_once(" | ").map_or("", |(_, said)| said);
        let said: Value = serde_json::from_str(said).unwrap_or_else(|e| panic!("{line}: {e}"));
        let has_request = said["span"]["requestId"].is_string();
        assert!(
            has_request || said["_aws"].is_object(),
            "a line without its request: {line}"
        );
    }

    assert!(
        metrics_in(&log)
            .iter()
            .all(|name| metrics::ALL.contains(&name.as_str()))
    );
}

#[tokio::test]
async fn the_terminal_shows_one_short_line_a_request_and_an_event() {
    let Some(cloud) = LocalCloud::for_test(&[("ROOST_VERBOSE", "false")]).await else {
        return;
    };
    let roost = cloud.client();
    let (reader, author) = (roost.sign_up("reader").await, roost.sign_up("author").await);
    reader.follow(&author).await;
    reader.newest().await;
    let tweet = author.post(CANARY).await;
    let call = author.call(Method::POST, "/v1/tweets");
    call.raw("{").send().await.expect_problem(400);
    let call = roost.call(Method::GET, "/v1/home_timeline?limit=5");
    call.send().await.expect_refusal(401);
    eventually(PATIENCE, "the fan-out shows", || async {
        let shows = cloud.log().contains("fan-out page delivered");
        expect_equal("shown", shows, true)
    })
    .await;

    let log = cloud.log();
    // Without the time.
    let lines: Vec<_> = log.lines().filter_map(|line| line.get(13..)).collect();
    let shown = |beginning: &str, end: &str| {
        let mut like = lines.iter().filter(|line| line.starts_with(beginning));
        let line = like.next().copied().unwrap_or_default();
        assert!(line.contains(end), "no {beginning}…{end} in:\n{log}");
        assert_eq!(like.next(), None, "once is enough:\n{log}");
        line
    };
    let caller = format!(" ms {}", author.subject());
    assert!(shown("POST /v1/tweets 201 ", &caller).ends_with(&caller));
    // Why it was refused.
    let refusal = shown("POST /v1/tweets 400 ", &format!("{caller}  "));
    assert!(refusal.contains("JSON"), "{refusal}");
    let path = "GET /v1/home_timeline?limit=5 401 ";
    shown(path, " ms -  the token is missing");
    let event = lines.iter().find(|line| line.contains("fan-out page"));
    let event = event.expect("it was there");
    assert!(event.starts_with("fan-out-tweets "), "{event}");
    let about = format!("  fan-out page delivered  tweet_id={} ", tweet.id);
    assert!(event.contains(&about), "{event}");
    for hidden in [
        "requestId",
        "_aws",
        "tweet posted",
        "request refused",
        CANARY,
    ] {
        assert!(!log.contains(hidden), "{hidden} in:\n{log}");
    }
}

#[tokio::test]
async fn a_line_in_json_has_its_time_its_level_and_its_request() {
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let author = cloud.client().sign_up("author").await;
    let json_lines = [("AWS_LAMBDA_LOG_FORMAT", "JSON")];
    let post = Function::start(&cloud, "post-tweet", &json_lines);
    let body = json!({ "text": CANARY });
    let event = events::http("POST", "/v1/tweets", &author.subject(), Some(&body));
    assert_eq!(post.invoke(event)["statusCode"], 201);
    let read = Function::start(&cloud, "home-timeline", &json_lines);
    let event = events::http("GET", "/v1/home_timeline", &author.subject(), None);
    assert_eq!(read.invoke(event)["statusCode"], 200);

    // What was written last may still be on its way.
    let said = eventually(PATIENCE, "the read is reported", || async {
        let written = [post.output(), read.output()].join("\n");
        let said: Vec<Value> = written
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line is an object"))
            .collect();
        let metrics = said.iter().filter(|line| line["_aws"].is_object());
        expect_equal("one line for one read", metrics.count(), 1).map(|()| said)
    })
    .await;
    for line in &said {
        let time = line["timestamp"].as_str().expect("a time");
        assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
        assert_eq!(line["level"], "INFO", "{line}");
        let has_request = line["span"]["requestId"].is_string();
        assert!(has_request || line["_aws"].is_object(), "{line}");
    }
    let posted = said
        .iter()
        .filter(|line| line["fields"]["message"] == "tweet posted");
    assert_eq!(posted.count(), 1, "{said:#?}");
}
