//! What functions write: logs with a request id and without anything that is nobody's business, and metrics.

use std::collections::BTreeSet;

use hyper::Method;
use roost_tests::{
    Function, LocalCloud, PATIENCE, User, events, eventually, expect_equal, expect_timeline,
};
use serde_json::{Value, json};
use shared::platform::metrics;

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
        assert_eq!(directive["Namespace"], "Roost");
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
    let expected = tables.home_timeline_of(reader.id).await;
    eventually(PATIENCE, "everything has arrived", || async {
        expect_timeline(&reader.try_walk(100).await?, &expected)
    })
    .await;
    cache.flush().await;
    expect_timeline(&reader.walk(100).await, &expected).expect("rebuilt");
    roost.invoke("reconcile-counts", &json!({})).await;
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

    let log = cloud.log();
    let lines: Vec<_> = log.lines().collect();
    assert!(lines.len() > 100, "{} lines prove nothing", lines.len());
    let mut secrets = vec![
        CANARY.to_owned(),
        "uthorization".to_owned(),
        "Bearer".to_owned(),
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
        let is_ours = ["DEBUG ", "TRACE ", "ERROR ", " INFO ", " WARN "]
            .iter()
            .any(|level| {
                line.split_once("| ")
                    .is_some_and(|(_, said)| said.starts_with(level))
            });
        assert!(
            !is_ours || line.contains("requestId"),
            "a line without its request: {line}"
        );
    }

    let emitted = metrics_in(&log);
    // The audit's are emitted by the audit.
    let expected: BTreeSet<_> = metrics::ALL
        .iter()
        .filter(|name| !name.starts_with("Audit"))
        .map(|name| (*name).to_owned())
        .collect();
    assert!(
        emitted.is_superset(&expected),
        "{emitted:?} instead of {expected:?}"
    );
    assert!(
        emitted
            .iter()
            .all(|name| metrics::ALL.contains(&name.as_str()))
    );
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

    let said: Vec<Value> = [post.output(), read.output()]
        .join("\n")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is an object"))
        .collect();
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
    let metrics = said.iter().filter(|line| line["_aws"].is_object());
    assert_eq!(metrics.count(), 1, "one line for one read: {said:#?}");
}
