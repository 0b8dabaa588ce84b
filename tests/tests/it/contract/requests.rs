//! What every endpoint has in common: the caller is known, and the request can be read.

use roost_tests::{Client, Method, PATIENCE, eventually, expect_equal, skip};
use serde_json::json;

use super::{UNKNOWN_ID, get_me};

/// Every route, with a body that would do.
pub(crate) fn routes() -> Vec<(Method, String, String)> {
    let known = |path: &str| {
        path.replace("{id}", UNKNOWN_ID)
            .replace("{handle}", "nobody")
    };
    let route = |method, path: &str| (method, known(path), String::new());
    vec![
        (
            Method::POST,
            "/v1/users".to_owned(),
            json!({ "handle": "nobody", "name": "Nobody" }).to_string(),
        ),
        route(Method::GET, "/v1/users/me"),
        route(Method::GET, "/v1/users/{id}"),
        route(Method::GET, "/v1/users/by/handle/{handle}"),
        route(Method::GET, "/v1/users?ids=1"),
        route(Method::GET, "/v1/users/search?q=nobody"),
        route(Method::GET, "/v1/handles/{handle}"),
        route(Method::POST, "/v1/users/{id}/follow"),
        route(Method::DELETE, "/v1/users/{id}/follow"),
        route(Method::PUT, "/v1/users/{id}/block"),
        route(Method::DELETE, "/v1/users/{id}/block"),
        route(Method::GET, "/v1/users/me/blocks"),
        route(Method::PUT, "/v1/users/{id}/mute"),
        route(Method::DELETE, "/v1/users/{id}/mute"),
        route(Method::GET, "/v1/users/me/mutes"),
        route(Method::GET, "/v1/users/{id}/followers"),
        route(Method::GET, "/v1/users/{id}/following"),
        route(Method::GET, "/v1/users/{id}/tweets"),
        (
            Method::POST,
            "/v1/tweets".to_owned(),
            json!({ "text": "hello" }).to_string(),
        ),
        route(Method::GET, "/v1/tweets?ids=1"),
        route(Method::GET, "/v1/tweets/{id}"),
        route(Method::DELETE, "/v1/tweets/{id}"),
        route(Method::PUT, "/v1/tweets/{id}/like"),
        route(Method::DELETE, "/v1/tweets/{id}/like"),
        route(Method::PUT, "/v1/tweets/{id}/repost"),
        route(Method::DELETE, "/v1/tweets/{id}/repost"),
        route(Method::GET, "/v1/tweets/{id}/replies"),
        route(Method::PUT, "/v1/tweets/{id}/hide"),
        route(Method::DELETE, "/v1/tweets/{id}/hide"),
        route(Method::GET, "/v1/users/me/likes"),
        route(Method::GET, "/v1/home_timeline"),
        route(Method::GET, "/v1/home_timeline/new?since=1"),
        route(Method::GET, "/v1/home_timeline/marker"),
        route(Method::POST, "/v1/live"),
        (
            Method::PUT,
            "/v1/home_timeline/marker".to_owned(),
            json!({ "last_read_id": "1", "version": 0 }).to_string(),
        ),
        (
            Method::PATCH,
            "/v1/users/me".to_owned(),
            json!({ "bio": "hello" }).to_string(),
        ),
        route(Method::DELETE, "/v1/users/me"),
    ]
}

#[tokio::test]
async fn an_answer_says_what_is_left_of_the_callers_limit() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    // The first request of a sandbox may be answered before it has reached Redis.
    eventually(PATIENCE, "limits are kept", || async {
        let answer = ada.get("/v1/users/me").await.expect(200);
        let said = |name: &str| answer.headers.contains_key(name);
        let all = [
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
        ];
        expect_equal("headers", all.map(said), [true; 3])
    })
    .await;
}

#[tokio::test]
async fn without_a_token_nothing_is_told() {
    let roost = Client::shared().await;

    for (method, path, body) in routes() {
        roost
            .call(method, &path)
            .raw(body)
            .send()
            .await
            .expect_refusal(401);
    }
}

#[tokio::test]
async fn a_token_with_a_wrong_signature_is_no_token() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let (claims, signature) = ada.token.rsplit_once('.').expect("a JWT has three parts");
    // The middle, because the last character of a base64 text may hold bits that are not used.
    let middle = signature.len() / 2;
    let other = if &signature[middle..=middle] == "A" {
        "B"
    } else {
        "A"
    };
    let forged = format!(
        "{claims}.{}{other}{}",
        &signature[..middle],
        &signature[middle + 1..]
    );
    get_me(&roost, &ada.token).await.expect(200);

    for token in [&forged, claims, "nonsense", ""] {
        get_me(&roost, token).await.expect_refusal(401);
    }
}

#[tokio::test]
async fn a_token_made_out_to_somebody_else_keeps_its_own_signature_only() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let parts = |token: &str| token.split('.').map(str::to_owned).collect::<Vec<_>>();
    let (of_ada, of_bob) = (parts(&ada.token), parts(&bob.token));

    let swapped = format!("{}.{}.{}", of_ada[0], of_bob[1], of_ada[2]);

    get_me(&roost, &swapped).await.expect_refusal(401);
}

#[tokio::test]
async fn an_expired_token_is_no_token() {
    let roost = Client::shared().await;
    if !roost.has_local_issuer() {
        return skip("a real issuer makes no expired tokens");
    }
    let token = roost.expired_token("somebody").await;

    get_me(&roost, &token).await.expect_refusal(401);
}

#[tokio::test]
async fn a_token_without_a_profile_can_only_look_for_a_handle_and_sign_up() {
    let roost = Client::shared().await;
    let token = roost.stranger().await;

    // To delete what is not there is no mistake.
    let is_for_all = |method: &Method, path: &str| {
        path.starts_with("/v1/handles/") || (method == Method::DELETE && path == "/v1/users/me")
    };
    let routes = routes().into_iter().skip(1);
    for (method, path, body) in routes.filter(|(method, path, _)| !is_for_all(method, path)) {
        roost
            .call(method, &path)
            .token(&token)
            .raw(body)
            .send()
            .await
            .expect_kind(403, "no-profile");
    }

    let body = json!({ "handle": roost.unused_handle("late"), "name": "Late" });
    roost.create_user(&token, &body).await.expect(201);
    get_me(&roost, &token).await.expect(200);
}

#[tokio::test]
async fn an_unknown_route_is_not_found() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    for path in [
        "/nothing",
        "/v1",
        "/v1/nothing",
        "/v1/users/1/nothing",
        "/v2/users/me",
        "/v1/tweets/1/likes",
    ] {
        ada.get(path).await.expect_refusal(404);
    }
    ada.call(Method::PUT, "/v1/tweets")
        .send()
        .await
        .expect_refusal(404);
}

#[tokio::test]
async fn what_is_not_json_is_refused() {
    let roost = Client::shared().await;
    let (ada, stranger) = (roost.sign_up("ada").await, roost.stranger().await);

    for body in [
        "",
        "{",
        "{\"text\":",
        "{'text': 'x'}",
        "{\"text\": \"x\"} and more",
        "text=x",
    ] {
        ada.call(Method::POST, "/v1/tweets")
            .raw(body)
            .send()
            .await
            .expect_problem(400);
        roost
            .call(Method::POST, "/v1/users")
            .token(&stranger)
            .raw(body)
            .send()
            .await
            .expect_problem(400);
    }
    assert_eq!(ada.tweets(100).await, []);
}

#[tokio::test]
async fn json_that_lacks_what_is_needed_is_refused() {
    let roost = Client::shared().await;
    let (ada, stranger) = (roost.sign_up("ada").await, roost.stranger().await);

    for body in [
        json!({}),
        json!([]),
        json!("x"),
        json!(null),
        json!({ "text": 5 }),
        json!({ "text": null }),
        json!({ "text": ["x"] }),
        json!({ "text": "x", "in_reply_to": 5 }),
    ] {
        ada.call(Method::POST, "/v1/tweets")
            .json(&body)
            .send()
            .await
            .expect_problem(422);
    }
    let handle = roost.unused_handle("lack");
    for body in [
        json!({}),
        json!({ "handle": handle }),
        json!({ "name": "x" }),
        json!({ "handle": 5, "name": "x" }),
        json!({ "handle": handle, "name": null }),
    ] {
        roost
            .create_user(&stranger, &body)
            .await
            .expect_problem(422);
    }
    assert_eq!(ada.tweets(100).await, []);
}

#[tokio::test]
async fn a_body_over_32_kib_is_too_large() {
    let roost = Client::shared().await;
    let (ada, stranger) = (roost.sign_up("ada").await, roost.stranger().await);
    let padding = "x".repeat(33 * 1024);

    ada.call(Method::POST, "/v1/tweets")
        .json(&json!({ "text": padding }))
        .send()
        .await
        .expect_problem(413);
    ada.call(Method::POST, "/v1/tweets")
        .json(&json!({ "text": "short", "padding": padding }))
        .send()
        .await
        .expect_problem(413);
    roost
        .create_user(&stranger, &json!({ "handle": "x", "name": padding }))
        .await
        .expect_problem(413);

    // Just within the limit, it is the text that is too long.
    let within = json!({ "text": "x".repeat(31 * 1024) });
    ada.call(Method::POST, "/v1/tweets")
        .json(&within)
        .send()
        .await
        .expect_problem(422);
    assert_eq!(ada.tweets(100).await, []);
}

#[tokio::test]
async fn malformed_limits_and_cursors_are_refused() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let lists =
        ["followers", "following", "tweets"].map(|list| format!("/v1/users/{}/{list}", ada.id));
    let replies = format!("/v1/tweets/{}/replies", ada.post("hello").await.id);

    for path in lists
        .iter()
        .map(String::as_str)
        .chain([replies.as_str(), "/v1/home_timeline"])
    {
        for query in [
            "limit=0",
            "limit=101",
            "limit=x",
            "limit=-1",
            "limit=",
            "limit=1.5",
            "cursor=abc",
            "cursor=-1",
            "cursor=",
        ] {
            ada.get(&format!("{path}?{query}"))
                .await
                .expect_problem(400);
        }
        for query in ["limit=1", "limit=100"] {
            ada.get(&format!("{path}?{query}")).await.expect(200);
        }
        // Lists of people have cursors of their own kind; in an earlier version they were ids, too.
        let of_people = path.contains("/follow");
        let by_id = ada.get(&format!("{path}?cursor=1")).await;
        if of_people {
            by_id.expect_problem(400);
        } else {
            by_id.expect(200);
        }
    }
}
