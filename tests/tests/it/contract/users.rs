use roost_tests::{Call, Client, Method};
use serde_json::{Value, json};

use super::{BAD_IDS, UNKNOWN_ID, assert_user, get_me};

fn sign_up(roost: &Client, token: &str, handle: &str, name: &str) -> Call {
    roost
        .call(Method::POST, "/v1/users")
        .token(token)
        .json(&json!({ "handle": handle, "name": name }))
}

#[tokio::test]
async fn signing_up_gives_a_profile_that_others_can_read_in_three_ways() {
    let roost = Client::shared().await;
    let (token, handle) = (roost.stranger().await, roost.unused_handle("Ada"));

    let created = sign_up(&roost, &token, &handle, "Ada Lovelace")
        .send()
        .await
        .expect(201)
        .json();

    assert_user(&created);
    assert_eq!(created["handle"], handle);
    assert_eq!(created["name"], "Ada Lovelace");
    assert_eq!(
        (&created["follower_count"], &created["following_count"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(created["is_celebrity"], false);
    let id = created["id"].as_str().expect("an id");
    let reader = roost.sign_up("reader").await;
    let me = get_me(&roost, &token).await.expect(200).json();
    assert_eq!(me, created);
    assert_eq!(
        reader
            .get(&format!("/v1/users/{id}"))
            .await
            .expect(200)
            .json(),
        created
    );
    assert_eq!(
        reader
            .get(&format!("/v1/users/by/handle/{handle}"))
            .await
            .expect(200)
            .json(),
        created
    );
}

#[tokio::test]
async fn signing_up_again_with_the_same_handle_gives_the_same_user() {
    let roost = Client::shared().await;
    let (token, handle) = (roost.stranger().await, roost.unused_handle("again"));
    let first = sign_up(&roost, &token, &handle, "Again")
        .send()
        .await
        .expect(201)
        .json();

    let second = sign_up(&roost, &token, &handle, "Again")
        .send()
        .await
        .expect(200)
        .json();

    assert_eq!(second, first);
}

#[tokio::test]
async fn signing_up_again_with_another_name_is_refused_and_changes_nothing() {
    let roost = Client::shared().await;
    let (token, handle) = (roost.stranger().await, roost.unused_handle("again"));
    let first = sign_up(&roost, &token, &handle, "Again").send().await;
    let first = first.expect(201).json();

    let other = sign_up(&roost, &token, &handle, "Somebody").send().await;
    let problem = other.expect_kind(409, "profile-exists");

    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("PATCH /v1/users/me"), "{problem}");
    assert_eq!(get_me(&roost, &token).await.expect(200).json(), first);
}

#[tokio::test]
async fn some_handles_are_for_nobody_however_they_are_spelled() {
    let roost = Client::shared().await;
    let token = roost.stranger().await;

    for reserved in ["me", "Admin", "ROOST", "support", "search", "api"] {
        let refused = sign_up(&roost, &token, reserved, "Somebody").send().await;
        let problem = refused.expect_kind(422, "invalid");
        assert_eq!(problem["errors"][0]["pointer"], "/handle");
        let call = roost.call(Method::GET, &format!("/v1/handles/{reserved}"));
        let answer = call.token(&token).send().await.expect(200).json();
        assert_eq!(answer, json!({ "available": false }), "{reserved}");
    }
}

#[tokio::test]
async fn deleting_a_profile_that_is_not_there_is_no_mistake() {
    let roost = Client::shared().await;
    let token = roost.stranger().await;
    let delete = async || {
        let call = roost.call(Method::DELETE, "/v1/users/me").token(&token);
        call.send().await.expect(204);
    };

    delete().await;
    let body = json!({ "handle": roost.unused_handle("short"), "name": "Short" });
    roost.create_user(&token, &body).await.expect(201);
    for _ in 0..3 {
        delete().await;
    }

    get_me(&roost, &token).await.expect_kind(403, "no-profile");
}

#[tokio::test]
async fn signing_up_many_times_at_once_makes_one_user() {
    let roost = Client::shared().await;
    let (token, handle) = (roost.stranger().await, roost.unused_handle("race"));

    let answers = roost_tests::in_parallel(
        6,
        (0..6).map(|_| sign_up(&roost, &token, &handle, "Race").send()),
    )
    .await;

    let mut ids: Vec<Value> = Vec::new();
    for answer in answers {
        assert!(
            [200, 201].contains(&answer.status),
            "{} answered {}: {}",
            answer.call,
            answer.status,
            answer.text()
        );
        ids.push(answer.json()["id"].clone());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "several users for one person: {ids:?}");
}

#[tokio::test]
async fn a_second_profile_is_refused_and_its_handle_stays_free() {
    let roost = Client::shared().await;
    let (token, handle) = (roost.stranger().await, roost.unused_handle("one"));
    let other = roost.unused_handle("two");
    sign_up(&roost, &token, &handle, "One")
        .send()
        .await
        .expect(201);

    sign_up(&roost, &token, &other, "Two")
        .send()
        .await
        .expect_kind(409, "profile-exists");

    let somebody_else = roost.stranger().await;
    sign_up(&roost, &somebody_else, &other, "Two")
        .send()
        .await
        .expect(201);
}

#[tokio::test]
async fn a_handle_belongs_to_one_person_however_it_is_capitalized() {
    let roost = Client::shared().await;
    let handle = roost.unused_handle("CaSe");
    let owner = sign_up(&roost, &roost.stranger().await, &handle, "Owner")
        .send()
        .await
        .expect(201)
        .json();

    for taken in [handle.clone(), handle.to_uppercase(), handle.to_lowercase()] {
        let token = roost.stranger().await;
        sign_up(&roost, &token, &taken, "Other")
            .send()
            .await
            .expect_kind(409, "handle-taken");
        // Being refused leaves no half a profile behind.
        get_me(&roost, &token).await.expect_problem(403);
    }
    let reader = roost.sign_up("reader").await;
    let found = reader
        .get(&format!("/v1/users/by/handle/{}", handle.to_uppercase()))
        .await
        .expect(200)
        .json();
    assert_eq!(found["id"], owner["id"]);
}

#[tokio::test]
async fn a_handle_is_available_until_somebody_has_it_and_again_when_they_are_gone() {
    let roost = Client::shared().await;
    let (token, handle) = (roost.stranger().await, roost.unused_handle("Free"));
    // Somebody without a profile may ask: they are about to sign up.
    let available = async |handle: &str| {
        let call = roost.call(Method::GET, &format!("/v1/handles/{handle}"));
        call.token(&token).send().await.expect(200).json()
    };
    assert_eq!(available(&handle).await, json!({ "available": true }));

    let owner = roost.stranger().await;
    sign_up(&roost, &owner, &handle, "Owner")
        .send()
        .await
        .expect(201);
    for spelling in [&handle, &handle.to_uppercase()] {
        assert_eq!(available(spelling).await, json!({ "available": false }));
    }

    let call = roost.call(Method::DELETE, "/v1/users/me").token(&owner);
    call.send().await.expect(204);
    assert_eq!(available(&handle).await, json!({ "available": true }));
}

#[tokio::test]
async fn what_cannot_be_a_handle_cannot_be_asked_for() {
    let roost = Client::shared().await;
    let token = roost.stranger().await;

    for bad in ["a-b", "a.b", "@ada", "%C3%A4", "%20", "sixteen_letters_"] {
        let call = roost.call(Method::GET, &format!("/v1/handles/{bad}"));
        call.token(&token).send().await.expect_problem(400);
    }
}

#[tokio::test]
async fn handles_are_1_to_15_letters_digits_or_underscores() {
    let roost = Client::shared().await;
    let token = roost.stranger().await;

    for bad in [
        "",
        "a b",
        "a-b",
        "a.b",
        "@ada",
        "ädä",
        "{ada}",
        "a#b",
        "ada\n",
        "sixteen_letters_",
        "👩",
    ] {
        sign_up(&roost, &token, bad, "Somebody")
            .send()
            .await
            .expect_problem(422);
    }

    let longest = format!("{:_<15}", roost.unused_handle("A_9"));
    sign_up(&roost, &token, &longest, "Somebody")
        .send()
        .await
        .expect(201);
}

#[tokio::test]
async fn names_are_1_to_50_characters_as_readers_count_them() {
    let roost = Client::shared().await;
    let token = roost.stranger().await;
    let handle = roost.unused_handle("name");

    for bad in [
        "",
        "   ",
        "\u{3000}\t\n",
        &"x".repeat(51),
        &"👍🏽".repeat(51),
        &format!("a{}", "\u{301}".repeat(14_000)),
    ] {
        sign_up(&roost, &token, &handle, bad)
            .send()
            .await
            .expect_problem(422);
    }

    let longest = "👍🏽".repeat(50);
    let user = sign_up(&roost, &token, &handle, &longest)
        .send()
        .await
        .expect(201)
        .json();
    assert_eq!(user["name"], longest);
}

#[tokio::test]
async fn a_profile_that_is_not_there_is_not_found() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;

    reader
        .get(&format!("/v1/users/{UNKNOWN_ID}"))
        .await
        .expect_problem(404);
    reader
        .get(&format!(
            "/v1/users/by/handle/{}",
            roost.unused_handle("no")
        ))
        .await
        .expect_problem(404);
    for list in ["followers", "following", "tweets"] {
        reader
            .get(&format!("/v1/users/{UNKNOWN_ID}/{list}"))
            .await
            .expect_problem(404);
    }
}

#[tokio::test]
async fn me_stands_for_the_callers_id_in_every_path() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    ada.follow(&bob).await;
    bob.follow(&ada).await;
    ada.post("mine").await;

    for path in ["", "/followers", "/following", "/tweets"] {
        let by_id = ada.get(&format!("/v1/users/{}{path}", ada.id)).await;
        let by_me = ada.get(&format!("/v1/users/me{path}")).await;
        // Counts may come in between.
        let ids = |answer: &Value| (answer["id"].clone(), answer["data"][0]["id"].clone());
        let (by_id, by_me) = (by_id.expect(200).json(), by_me.expect(200).json());
        assert_eq!(ids(&by_me), ids(&by_id), "{path}");
        assert_eq!(by_me["meta"], by_id["meta"], "{path}");
    }
    for method in [Method::POST, Method::DELETE] {
        let call = ada.call(method, "/v1/users/me/follow");
        call.send().await.expect_problem(422);
    }
}

#[tokio::test]
async fn a_malformed_user_id_is_refused_wherever_it_stands() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;

    for id in BAD_IDS {
        for path in ["", "/followers", "/following", "/tweets"] {
            reader
                .get(&format!("/v1/users/{id}{path}"))
                .await
                .expect_problem(400);
        }
        for method in [Method::POST, Method::DELETE] {
            reader
                .call(method, &format!("/v1/users/{id}/follow"))
                .send()
                .await
                .expect_problem(400);
        }
    }
}
