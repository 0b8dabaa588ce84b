//! What is the same on every route: how a request is refused, what is told beside an answer, and what a text may be.

use roost_tests::{Answer, Client, Method, Target, User};
use serde_json::{Value, json};

use super::requests::routes;

/// Words of parsers and of our own code. No client should ever read them.
const FOREIGN_WORDS: [&str; 8] = [
    "expected",
    "EOF",
    "line ",
    "column",
    "u64",
    "serde",
    "Some(",
    "invalid type",
];

async fn post(user: &User, body: &Value) -> Answer {
    user.call(Method::POST, "/v1/tweets")
        .json(body)
        .send()
        .await
}

async fn patch(user: &User, body: &Value) -> Answer {
    user.call(Method::PATCH, "/v1/users/me")
        .json(body)
        .send()
        .await
}

/// The places of all mistakes, in their order.
fn places(problem: &Value) -> Vec<&str> {
    let errors = problem["errors"].as_array().expect("a list of mistakes");
    let places = errors.iter().map(|error| {
        assert!(error["detail"].is_string(), "{error}");
        let mut kinds = ["pointer", "parameter", "header"].into_iter();
        let place = kinds.find_map(|kind| error[kind].as_str());
        place.unwrap_or_else(|| panic!("a mistake without a place: {error}"))
    });
    places.collect()
}

#[tokio::test]
async fn every_answer_has_a_number() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    let routes = routes().into_iter().filter(|(method, path, _)| {
        // What would end the test.
        !(method == Method::DELETE && path == "/v1/users/me")
    });
    for (method, path, body) in routes {
        let answer = ada.call(method, &path).raw(body).send().await;
        let id = answer.request_id().unwrap_or_default();
        assert!(!id.is_empty(), "{} has no X-Request-Id", answer.call);
        // MiniStack makes up one number for its own header, and another one for the function.
        let of_gateway = answer.header("apigw-requestid");
        let is_same = of_gateway.is_none_or(|it| it == id);
        assert!(is_same || Target::is_remote(), "{}", answer.call);
    }
}

#[tokio::test]
async fn the_gateways_own_answers_have_its_shape_and_its_number() {
    let roost = Client::shared().await;
    if !roost.has_local_issuer() {
        return roost_tests::skip("this is about the gateway of the local cloud");
    }
    let ada = roost.sign_up("ada").await;
    let page = ada.get("/v1/users/me").await.expect(200);
    assert_eq!(page.header("apigw-requestid"), page.request_id());

    for answer in [
        ada.get("/v1/nothing").await.expect(404),
        roost
            .call(Method::GET, "/v1/users/me")
            .send()
            .await
            .expect(401),
    ] {
        assert!(
            answer.header("apigw-requestid").is_some(),
            "{}",
            answer.call
        );
        assert!(answer.json()["message"].is_string(), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_parameter_that_a_route_does_not_know_is_refused_on_every_route() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    for (method, path, body) in routes() {
        let and = if path.contains('?') { '&' } else { '?' };
        for typo in ["limits=5", "Limit=5", "_=1"] {
            let call = ada.call(method.clone(), &format!("{path}{and}{typo}"));
            let answer = call.raw(body.clone()).send().await;
            let problem = answer.expect_kind(400, "unknown-parameter");
            let name = typo.split('=').next();
            assert_eq!(problem["errors"][0]["parameter"].as_str(), name);
        }
    }
    ada.get("/v1/users/me").await.expect(200);
}

#[tokio::test]
async fn a_parameter_is_given_once_and_in_a_way_that_can_be_read() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    for (query, name) in [
        ("limit=5&limit=5", "limit"),
        ("limit=x", "limit"),
        ("since=x", "since"),
        ("since_id=x", "since_id"),
        ("since=1&since_id=2", "since_id"),
        ("since=1&cursor=2", "since_id"),
        ("order=best", "order"),
        ("include=all", "include"),
        ("explain=yes", "explain"),
    ] {
        let answer = ada.get(&format!("/v1/home_timeline?{query}")).await;
        let problem = answer.expect_kind(400, "malformed");
        assert_eq!(places(&problem), [name], "{query}");
    }
    for (path, query, names) in [
        (
            "/v1/home_timeline",
            "limit=0&order=best&explain=5",
            &["limit", "order", "explain"][..],
        ),
        (
            "/v1/users/me/followers",
            "limit=x&cursor=y&expand=z",
            &["limit", "cursor", "expand"],
        ),
        (
            "/v1/users/me/likes",
            "limit=x&cursor=y",
            &["limit", "cursor"],
        ),
        (
            "/v1/users/me/tweets",
            "include=all&limit=x&cursor=y",
            &["limit", "cursor", "include"],
        ),
    ] {
        let answer = ada.get(&format!("{path}?{query}")).await;
        let problem = answer.expect_kind(400, "malformed");
        assert_eq!(places(&problem), names, "{path}?{query}");
    }
}

#[tokio::test]
async fn every_wrong_field_is_told_at_once() {
    let roost = Client::shared().await;
    let (ada, stranger) = (roost.sign_up("ada").await, roost.stranger().await);

    let media = json!([
        { "type": "image", "url": "https://example.com/a.jpg" },
        { "type": "gif", "url": "http://example.com", "alt": 5, "size": 7 },
        "https://example.com/b.jpg",
    ]);
    let body = json!({ "text": "", "in_reply_to": 5, "media": media, "texd": "hello" });
    let problem = post(&ada, &body).await.expect_kind(422, "invalid");
    let expected = [
        "/text",
        "/in_reply_to",
        "/media/1/type",
        "/media/1/url",
        "/media/1/alt",
        "/media/1/size",
        "/media/2",
        "/texd",
    ];
    assert_eq!(places(&problem), expected);

    let body = json!({ "handle": "no spaces", "nmae": "x" });
    let refused = roost.create_user(&stranger, &body).await;
    let problem = refused.expect_kind(422, "invalid");
    assert_eq!(places(&problem), ["/handle", "/name", "/nmae"]);

    let body = json!({ "name": 5, "bio": "a\u{0}b", "avatar_url": "ftp://x", "a/b~c": 1 });
    let problem = patch(&ada, &body).await.expect_kind(422, "invalid");
    assert_eq!(
        places(&problem),
        ["/name", "/bio", "/avatar_url", "/a~1b~0c"]
    );

    let marker = ada.call(Method::PUT, "/v1/home_timeline/marker");
    let body = json!({ "last_read_id": 5, "version": "0", "device": "phone" });
    let problem = marker.json(&body).send().await.expect_kind(422, "invalid");
    assert_eq!(places(&problem), ["/last_read_id", "/version", "/device"]);

    let key = ada
        .call(Method::POST, "/v1/tweets")
        .json(&json!({ "text": "x" }));
    let key = key.header("idempotency-key", &"k".repeat(256)).send().await;
    let problem = key.expect_kind(400, "malformed");
    assert_eq!(places(&problem), ["Idempotency-Key"]);
}

#[tokio::test]
async fn no_problem_speaks_in_a_parsers_words() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    let mut problems = Vec::new();
    for body in [
        "",
        "{",
        "{\"text\":",
        "{\"text\": \"\\ud800\"}",
        "[]",
        "{\"text\": 5}",
        "{\"text\": \"x\", \"media\": 5}",
        "{\"text\": \"x\", \"in_reply_to\": {}}",
        "{\"last_read_id\": \"x\", \"version\": 1.5}",
        "{\"last_read_id\": \"1\", \"version\": 18446744073709551615}",
    ] {
        for (method, path) in [
            (Method::POST, "/v1/tweets"),
            (Method::POST, "/v1/users"),
            (Method::PATCH, "/v1/users/me"),
            (Method::PUT, "/v1/home_timeline/marker"),
        ] {
            let answer = ada.call(method, path).raw(body).send().await;
            assert!(
                [400, 422].contains(&answer.status),
                "{}: {body}",
                answer.call
            );
            let status = answer.status;
            problems.push(answer.expect_problem(status));
        }
    }
    for path in [
        "/v1/users/x",
        "/v1/tweets/x",
        "/v1/home_timeline?cursor=x",
        "/v1/users?ids=x",
    ] {
        problems.push(ada.get(path).await.expect_problem(400));
    }

    for problem in problems {
        let told = problem.to_string();
        for word in FOREIGN_WORDS {
            assert!(!told.contains(word), "{word:?} is in {told}");
        }
    }
}

#[tokio::test]
async fn refusals_that_differ_have_types_that_differ() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let tweet = ada.post("mine").await;
    ada.block(&bob).await;
    let ask = async |user: &User, method: Method, path: &str| user.call(method, path).send().await;

    let (of_ada, of_bob) = (
        format!("/v1/users/{}", ada.id),
        format!("/v1/users/{}", bob.id),
    );
    let mine = format!("/v1/tweets/{}", tweet.id);
    for (user, method, path, status, kind) in [
        (&bob, Method::GET, "/v1/users/x", 400, "malformed"),
        (
            &bob,
            Method::GET,
            "/v1/home_timeline?cursor=x",
            400,
            "foreign-cursor",
        ),
        (&bob, Method::GET, &mine, 403, "blocked"),
        (
            &bob,
            Method::POST,
            &format!("{of_ada}/follow"),
            403,
            "blocked",
        ),
        (
            &ada,
            Method::POST,
            &format!("{of_bob}/follow"),
            403,
            "blocked",
        ),
        (&bob, Method::DELETE, &mine, 403, "not-yours"),
        (&bob, Method::GET, "/v1/users/1", 404, "user-not-found"),
        (
            &bob,
            Method::GET,
            "/v1/users/by/handle/n_o_b_o_d_y_",
            404,
            "user-not-found",
        ),
        (&bob, Method::GET, "/v1/tweets/1", 404, "tweet-not-found"),
        (
            &ada,
            Method::PUT,
            "/v1/tweets/1/like",
            404,
            "tweet-not-found",
        ),
        (&ada, Method::POST, "/v1/users/me/follow", 422, "yourself"),
        (&ada, Method::DELETE, "/v1/users/me/follow", 422, "yourself"),
        (&ada, Method::PUT, "/v1/users/me/mute", 422, "yourself"),
        (&ada, Method::PUT, "/v1/users/me/block", 422, "yourself"),
    ] {
        ask(user, method, path).await.expect_kind(status, kind);
    }
    let large = json!({ "text": "x".repeat(40_000) });
    post(&ada, &large).await.expect_kind(413, "too-large");
}

#[tokio::test]
async fn what_is_new_says_where_it_is() {
    let roost = Client::shared().await;
    let token = roost.stranger().await;
    let body = json!({ "handle": roost.unused_handle("new"), "name": "New" });

    let created = roost.create_user(&token, &body).await.expect(201);
    let path = format!(
        "/v1/users/{}",
        created.json()["id"].as_str().expect("an id")
    );
    assert_eq!(created.header("location"), Some(path.as_str()));
    let read = roost.call(Method::GET, &path).token(&token).send().await;
    assert_eq!(read.expect(200).json(), created.json());

    let call = roost.call(Method::POST, "/v1/tweets").token(&token);
    let posted = call
        .json(&json!({ "text": "hello" }))
        .send()
        .await
        .expect(201);
    let path = format!(
        "/v1/tweets/{}",
        posted.json()["id"].as_str().expect("an id")
    );
    assert_eq!(posted.header("location"), Some(path.as_str()));
    assert_eq!(posted.header("idempotent-replayed"), None);
}

#[tokio::test]
async fn a_page_that_the_client_has_is_known_by_any_of_its_tags() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    ada.post("hello").await;
    let page = ada.get("/v1/home_timeline").await.expect(200);
    let tag = page.header("etag").expect("a tag").to_owned();
    let strong = tag.trim_start_matches("W/");
    let ask = async |tags: &str| {
        let call = ada.call(Method::GET, "/v1/home_timeline");
        call.header("if-none-match", tags).send().await
    };

    for tags in [
        tag.clone(),
        strong.to_owned(),
        "*".to_owned(),
        format!("\"other\", {tag}"),
        format!("{strong},\"x,y\""),
    ] {
        let unchanged = ask(&tags).await.expect(304);
        assert_eq!(unchanged.header("etag"), Some(tag.as_str()), "{tags}");
        assert_eq!(
            unchanged.header("cache-control"),
            page.header("cache-control"),
            "{tags}"
        );
        assert!(unchanged.body.is_empty() && unchanged.request_id().is_some());
    }
    for tags in ["\"other\"", "other", &format!("\"x{}", &strong[1..])] {
        ask(tags).await.expect(200);
    }
}

#[tokio::test]
async fn texts_and_names_are_trimmed_and_can_be_seen() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    for nothing in [
        "\u{200b}",
        " \u{200b}\u{feff} ",
        "\u{301}",
        "\u{202e}\u{2066}",
        "\u{3164}",
        "\u{2800}",
        "a\u{0}b",
        "a\u{1b}[31mb",
        "a\tb",
        "a\r\nb",
        "a\u{85}b",
    ] {
        for (field, answer) in [
            ("/text", post(&ada, &json!({ "text": nothing })).await),
            ("/name", patch(&ada, &json!({ "name": nothing })).await),
            ("/bio", patch(&ada, &json!({ "bio": nothing })).await),
        ] {
            let problem = answer.expect_kind(422, "invalid");
            assert_eq!(places(&problem), [field], "{nothing:?}");
        }
    }
    patch(&ada, &json!({ "name": "two\nlines" }))
        .await
        .expect_kind(422, "invalid");

    let posted = post(&ada, &json!({ "text": " \n two\nlines \t" })).await;
    assert_eq!(posted.expect(201).json()["text"], "two\nlines");
    let changed = json!({ "name": "\u{a0}Ada\n", "bio": "\ntwo\nlines\n" });
    let changed = patch(&ada, &changed).await.expect(200).json();
    assert_eq!(
        (&changed["name"], &changed["bio"]),
        (&json!("Ada"), &json!("two\nlines"))
    );
}

/// Pages that are served on this machine may call the local cloud. Who may on AWS is for the operator to say.
#[tokio::test]
async fn pages_of_this_machine_may_call_the_local_cloud() {
    let roost = Client::shared().await;
    if !roost.has_local_issuer() {
        return roost_tests::skip("who may call is a parameter of this deployment");
    }
    let ada = roost.sign_up("ada").await;
    let preflight = async |origin: &str, path: &str| {
        let call = roost.call(Method::OPTIONS, path).header("origin", origin);
        let call = call.header("access-control-request-method", "POST");
        let call = call.header(
            "access-control-request-headers",
            "authorization,idempotency-key",
        );
        call.send().await.expect(204)
    };
    let list = |answer: &Answer, name: &str| -> Vec<String> {
        let values = answer.header(name).unwrap_or_default().split(',');
        values
            .map(|value| value.trim().to_ascii_lowercase())
            .collect()
    };

    for origin in ["http://localhost:5173", "http://127.0.0.1:8080"] {
        for path in ["/v1/tweets", "/dev/token"] {
            let allowed = preflight(origin, path).await;
            assert_eq!(allowed.header("access-control-allow-origin"), Some(origin));
            let headers = list(&allowed, "access-control-allow-headers");
            for name in [
                "authorization",
                "content-type",
                "idempotency-key",
                "if-none-match",
            ] {
                assert!(headers.iter().any(|header| header == name), "{name}");
            }
            let methods = list(&allowed, "access-control-allow-methods");
            for name in ["get", "post", "put", "patch", "delete"] {
                assert!(methods.iter().any(|method| method == name), "{name}");
            }
        }
        let call = ada
            .call(Method::GET, "/v1/home_timeline")
            .header("origin", origin);
        let page = call.send().await.expect(200);
        assert_eq!(page.header("access-control-allow-origin"), Some(origin));
        let exposed = list(&page, "access-control-expose-headers");
        for name in [
            "etag",
            "link",
            "location",
            "retry-after",
            "x-request-id",
            "idempotent-replayed",
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
        ] {
            assert!(exposed.iter().any(|header| header == name), "{name}");
        }
    }
    for origin in [
        "https://evil.example",
        "http://localhost.evil.example",
        "null",
    ] {
        let refused = preflight(origin, "/v1/tweets").await;
        assert_eq!(
            refused.header("access-control-allow-origin"),
            None,
            "{origin}"
        );
    }
}
