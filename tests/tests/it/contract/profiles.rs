//! What people say of themselves, and how soon others see it.

use roost_tests::{Answer, Client, LocalCloud, Method, PATIENCE, User, eventually, expect_equal};
use serde_json::{Value, json};

use super::{assert_user, get_me};

async fn patch(user: &User, body: &Value) -> Answer {
    let call = user.call(Method::PATCH, "/v1/users/me");
    call.json(body).send().await
}

/// The card of this author on the first page of a reader's home timeline.
async fn card(reader: &User, author: &User) -> Value {
    let page = reader.get("/v1/home_timeline").await.expect(200).json();
    let users = page["includes"]["users"].as_array().cloned();
    let (mut users, id) = (users.unwrap_or_default().into_iter(), author.id.to_string());
    let found = users.find(|user| user["id"] == id.as_str());
    found.unwrap_or_else(|| panic!("no card of {} in {page}", author.handle))
}

#[tokio::test]
async fn a_changed_profile_is_on_every_page_once_the_answer_is_out() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    let tweet = ada.post("hello").await;
    bob.eventually_sees(&[tweet.id]).await;

    for (n, removed) in [(1, false), (2, false), (3, true)] {
        // The card is cached again each time.
        card(&bob, &ada).await;
        let (name, bio) = (format!("Ada {n}"), format!("first line\nline {n}"));
        let url = format!("https://example.com/{n}.png");
        let body = if removed {
            json!({ "name": name, "bio": null, "avatar_url": null })
        } else {
            json!({ "name": name, "bio": bio, "avatar_url": url })
        };
        let answer = patch(&ada, &body).await.expect(200).json();
        let shown = card(&bob, &ada).await;
        let by_id = bob.get(&format!("/v1/users/{}", ada.id)).await;
        let following = bob.get(&format!("/v1/users/{}/following", bob.id)).await;
        for user in [
            &answer,
            &shown,
            &by_id.expect(200).json(),
            &get_me(&roost, &ada.token).await.expect(200).json(),
            &following.expect(200).json()["data"][0],
        ] {
            assert_user(user);
            assert_eq!(user["name"], name);
            let said = (user.get("bio"), user.get("avatar_url"));
            if removed {
                assert_eq!(said, (None, None), "{user}");
            } else {
                assert_eq!(said, (Some(&json!(bio)), Some(&json!(url))), "{user}");
            }
        }
    }
}

#[tokio::test]
async fn a_field_that_is_not_named_stays_as_it_is() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let before = get_me(&roost, &ada.token).await.expect(200).json();
    assert_eq!(before.get("bio"), None);

    assert_eq!(patch(&ada, &json!({})).await.expect(200).json(), before);
    let bio = patch(&ada, &json!({ "bio": "  birds " })).await.expect(200);
    assert_eq!(bio.json()["bio"], "birds");
    let url = json!({ "avatar_url": "https://example.com/a" });
    let both = patch(&ada, &url).await.expect(200).json();
    assert_eq!(both["bio"], "birds");
    assert_eq!(both["name"], before["name"]);
    let without = patch(&ada, &json!({ "bio": "" })).await.expect(200).json();
    assert_eq!(without.get("bio"), None);
    assert_eq!(without["avatar_url"], "https://example.com/a");
    assert_eq!(get_me(&roost, &ada.token).await.expect(200).json(), without);
}

#[tokio::test]
async fn what_cannot_be_in_a_profile_is_refused_and_changes_nothing() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let before = get_me(&roost, &ada.token).await.expect(200).json();

    for body in [
        json!([]),
        json!({ "name": null }),
        json!({ "name": " " }),
        json!({ "name": "x".repeat(51) }),
        json!({ "bio": "x".repeat(161) }),
        json!({ "bio": format!("a{}", "\u{301}".repeat(512)) }),
        json!({ "bio": "bell \u{7}" }),
        json!({ "bio": 5 }),
        json!({ "avatar_url": "" }),
        json!({ "avatar_url": "http://example.com/a.png" }),
        json!({ "avatar_url": "javascript:alert(1)" }),
        json!({ "avatar_url": format!("https://example.com/{}", "a".repeat(2_048)) }),
        json!({ "handle": "other" }),
        json!({ "name": "Good", "follower_count": 5 }),
        json!({ "name": "Good", "bio": "x".repeat(161) }),
    ] {
        patch(&ada, &body).await.expect_problem(422);
    }
    for body in ["", "{", "name=x"] {
        let call = ada.call(Method::PATCH, "/v1/users/me").raw(body);
        call.send().await.expect_problem(400);
    }

    let after = get_me(&roost, &ada.token).await.expect(200).json();
    assert_eq!(after, before);
}

#[tokio::test]
async fn a_profile_changes_while_redis_hangs_and_redis_is_told_afterwards() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let [ada, bob] = cloud.client().sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    let tweet = ada.post("hello").await;
    bob.eventually_sees(&[tweet.id]).await;
    card(&bob, &ada).await;

    let hanging = cache.stop_server().await;
    let answer = patch(&ada, &json!({ "name": "Changed" })).await;
    assert_eq!(answer.expect(200).json()["name"], "Changed");
    assert_eq!(card(&bob, &ada).await["name"], "Changed");
    drop(hanging);

    eventually(PATIENCE, "the card is right", || async {
        expect_equal(
            "name",
            card(&bob, &ada).await["name"].clone(),
            json!("Changed"),
        )
    })
    .await;
    assert!(!cloud.log().contains("gave up"));
}

#[tokio::test]
async fn a_card_that_redis_could_not_forget_is_forgotten_by_the_stream() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    let tweet = ada.post("hello").await;
    bob.eventually_sees(&[tweet.id]).await;
    card(&bob, &ada).await;
    // What a change leaves behind if Redis did not hear of it.
    let key = format!("profile:{{{}}}", ada.id);
    let old: Option<String> = cache.ask(&["GET", &key]).await;
    let old = old.expect("a cached card");
    patch(&ada, &json!({ "name": "Changed" })).await.expect(200);
    let _: String = cache.ask(&["SET", &key, &old, "EX", "600"]).await;
    assert_ne!(card(&bob, &ada).await["name"], "Changed");

    let event = roost_tests::events::outdated(ada.id);
    for _ in 0..2 {
        if roost.invoke("apply-tier-changes", &event).await.is_none() {
            return;
        }
        assert_eq!(card(&bob, &ada).await["name"], "Changed");
    }
}
