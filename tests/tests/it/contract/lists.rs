//! Where lists end, and which cursors they take.

use roost_tests::{Client, Method, PATIENCE, User, eventually, expect_equal};
use serde_json::Value;

/// Everybody has three of everything.
const HAS: usize = 3;

/// Every list that is read page by page, as the path of this user and of this tweet.
fn lists(of: &User, tweet: u64) -> Vec<String> {
    let id = of.id;
    vec![
        "/v1/home_timeline?".to_owned(),
        "/v1/home_timeline?order=ranked&".to_owned(),
        "/v1/home_timeline?include=activity&".to_owned(),
        format!("/v1/users/{id}/tweets?"),
        format!("/v1/users/{id}/tweets?include=replies&"),
        format!("/v1/tweets/{tweet}/replies?"),
        "/v1/users/me/likes?".to_owned(),
        format!("/v1/users/{id}/followers?"),
        format!("/v1/users/{id}/following?"),
        "/v1/users/me/mutes?".to_owned(),
        "/v1/users/me/blocks?".to_owned(),
    ]
}

/// Somebody with as many of everything, and a tweet of theirs with as many replies.
async fn given_somebody(roost: &Client) -> (User, u64) {
    let ada = roost.sign_up("ada").await;
    let (friends, others) = (
        roost.sign_up_many("friend", HAS).await,
        roost.sign_up_many("other", HAS).await,
    );
    let muted = roost.sign_up_many("muted", HAS).await;
    let mut first = None;
    for n in 0..HAS {
        let tweet = ada.post(&format!("number {n}")).await;
        ada.like(&tweet).await;
        friends[n].follow(&ada).await;
        ada.follow(&friends[n]).await;
        ada.mute(&muted[n]).await;
        ada.block(&others[n]).await;
        first.get_or_insert(tweet);
    }
    let first = first.expect("a tweet");
    for friend in &friends {
        friend.reply(&first, "a reply").await;
    }
    (ada, first.id)
}

async fn page(user: &User, path: &str) -> Value {
    user.get(path).await.expect(200).json()
}

#[tokio::test]
async fn a_list_that_ends_with_a_page_leads_nowhere() {
    let roost = Client::shared().await;
    let (ada, tweet) = given_somebody(&roost).await;

    for list in lists(&ada, tweet) {
        // Some lists are a moment behind.
        eventually(PATIENCE, &list, || async {
            let whole = page(&ada, &format!("{list}limit=100")).await;
            expect_equal("items", whole["meta"]["result_count"].clone(), HAS.into())
        })
        .await;
        for limit in [HAS, HAS + 1] {
            let whole = page(&ada, &format!("{list}limit={limit}")).await;
            assert_eq!(whole["meta"].get("next_cursor"), None, "{list}{limit}");
        }
        // The same at the end of a scroll, one by one.
        let (mut cursor, mut pages) = (String::new(), 0);
        loop {
            let next = page(&ada, &format!("{list}limit=1{cursor}")).await;
            assert_eq!(next["meta"]["result_count"], 1, "{list}: an empty page");
            pages += 1;
            let Some(next) = next["meta"]["next_cursor"].as_str() else {
                break;
            };
            assert!(pages < HAS, "{list} goes on after its end");
            cursor = format!("&cursor={next}");
        }
        assert_eq!(pages, HAS, "{list}");
    }
}

#[tokio::test]
async fn a_cursor_is_good_for_its_own_list_only() {
    let roost = Client::shared().await;
    let (ada, tweet) = given_somebody(&roost).await;
    let (bob, other) = given_somebody(&roost).await;
    let mut cursors = Vec::new();
    for list in lists(&ada, tweet) {
        eventually(PATIENCE, &list, || async {
            let first = page(&ada, &format!("{list}limit=1")).await;
            let there = first["meta"]["next_cursor"].is_string();
            expect_equal("a cursor", there, true)
        })
        .await;
        let first = page(&ada, &format!("{list}limit=1")).await;
        let cursor = first["meta"]["next_cursor"].as_str().expect("a cursor");
        cursors.push((list, cursor.to_owned()));
    }

    for (list, _) in &cursors {
        for (of, cursor) in &cursors {
            let answer = ada.get(&format!("{list}cursor={cursor}")).await;
            // A tweet's id is a place in every list that is in the order of time.
            let is_id = cursor.parse::<u64>().is_ok();
            let takes_ids = list.contains("/tweets") || list.starts_with("/v1/home_timeline?");
            let takes_ids = takes_ids && !list.contains("ranked");
            if list == of || (is_id && takes_ids) {
                answer.expect(200);
            } else {
                answer.expect_kind(400, "foreign-cursor");
            }
        }
    }
    // Nor for the same list of somebody else.
    for ((_, cursor), list) in cursors.iter().zip(lists(&bob, other)) {
        let answer = bob.get(&format!("{list}cursor={cursor}")).await;
        if cursor.parse::<u64>().is_ok() {
            answer.expect(200);
        } else {
            answer.expect_kind(400, "foreign-cursor");
        }
    }
}

#[tokio::test]
async fn since_has_two_names_where_a_list_is_read_upwards_and_none_elsewhere() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let tweets = [
        ada.post("one").await,
        ada.post("two").await,
        ada.post("three").await,
    ];
    let id = tweets[0].id;

    for name in ["since", "since_id"] {
        let above = page(&ada, &format!("/v1/home_timeline?{name}={id}")).await;
        assert_eq!(above["meta"]["result_count"], 2, "{name}");
        let new = page(&ada, &format!("/v1/home_timeline/new?{name}={id}")).await;
        assert_eq!(new["count"], 2, "{name}");
        let lists = lists(&ada, id).into_iter();
        for list in lists.filter(|list| !list.starts_with("/v1/home_timeline")) {
            let answer = ada.get(&format!("{list}{name}={id}")).await;
            answer.expect_kind(400, "unknown-parameter");
        }
    }
    let both = page(&ada, &format!("/v1/home_timeline?since={id}&since_id={id}")).await;
    assert_eq!(both["meta"]["result_count"], 2);
    for path in ["/v1/home_timeline", "/v1/home_timeline/new"] {
        let call = ada.call(Method::GET, &format!("{path}?since={id}&since_id=1"));
        call.send().await.expect_kind(400, "malformed");
    }
    ada.get("/v1/home_timeline/new")
        .await
        .expect_kind(400, "malformed");
}
