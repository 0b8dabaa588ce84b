//! Users and tweets by their ids, many at once.

use roost_tests::{Client, Tweet, User};
use serde_json::{Value, json};

use super::{BAD_IDS, UNKNOWN_ID, assert_tweet, assert_user};

fn path(list: &str, ids: &[u64]) -> String {
    let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
    format!("/v1/{list}?ids={}", ids.join(","))
}

/// The ids of the data of an answer, after a look at its shape.
fn ids_of(answer: &Value, check: fn(&Value)) -> Vec<u64> {
    let data = answer["data"].as_array().expect("a list");
    assert_eq!(answer["meta"], json!({ "result_count": data.len() }));
    let ids = data.iter().map(|item| {
        check(item);
        item["id"].as_str().and_then(|id| id.parse().ok())
    });
    ids.map(|id| id.expect("an id")).collect()
}

async fn users(reader: &User, ids: &[u64]) -> Vec<u64> {
    let answer = reader.get(&path("users", ids)).await.expect(200).json();
    assert_eq!(answer.get("includes"), None);
    ids_of(&answer, assert_user)
}

/// Tweets, and their authors.
async fn tweets(reader: &User, ids: &[u64]) -> (Vec<u64>, Vec<String>) {
    let answer = reader.get(&path("tweets", ids)).await.expect(200).json();
    let included = answer["includes"]["users"].as_array().expect("a list");
    let authors = included.iter().map(|user| {
        assert_user(user);
        user["handle"].as_str().unwrap_or_default().to_owned()
    });
    (ids_of(&answer, assert_tweet), authors.collect())
}

#[tokio::test]
async fn users_come_in_the_order_asked_each_once_and_without_the_unknown() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let asked = [bob.id, 1, ada.id, bob.id, eve.id, ada.id];

    // The second time from the cache.
    for _ in 0..2 {
        assert_eq!(users(&ada, &asked).await, [bob.id, ada.id, eve.id]);
    }
    assert_eq!(users(&ada, &[1, 2]).await, [0; 0]);
    let one = ada.get(&path("users", &[bob.id])).await.expect(200).json();
    let bobs = ada.get(&format!("/v1/users/{}", bob.id)).await;
    assert_eq!(one["data"][0], bobs.expect(200).json());
}

#[tokio::test]
async fn tweets_come_in_the_order_asked_with_their_authors() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let old = ada.post("old").await;
    let [reply, new] = [bob.post("middle").await, ada.post("new").await];
    let asked = [old.id, 5, reply.id, new.id, old.id];

    for reader in [&ada, &bob] {
        let (found, authors) = tweets(reader, &asked).await;
        assert_eq!(found, [old.id, reply.id, new.id]);
        assert_eq!(authors, [ada.handle.clone(), bob.handle.clone()]);
    }
    let answer = bob.get(&path("tweets", &[old.id])).await.expect(200);
    let found: Tweet = serde_json::from_value(answer.json()["data"][0].clone()).expect("a tweet");
    assert_eq!(found, old);
}

#[tokio::test]
async fn what_redis_has_lost_is_found_in_the_tables() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let posted = [ada.post("one").await.id, ada.post("two").await.id];
    for round in 0..2 {
        for tweet in posted {
            let key = format!("tweet:{{{tweet}}}");
            let cached: i64 = cache.ask(&["DEL", &key]).await;
            assert_eq!(cached, 1, "a tweet was not cached in round {round}");
        }
        let _: i64 = cache
            .ask(&["DEL", &format!("profile:{{{}}}", ada.id)])
            .await;
        let (found, authors) = tweets(&bob, &posted).await;
        assert_eq!(
            (found, authors),
            (posted.to_vec(), vec![ada.handle.clone()])
        );
    }
}

#[tokio::test]
async fn what_is_deleted_is_not_found_by_its_id() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let [gone, kept] = [ada.post("gone").await, ada.post("kept").await];
    let lost = eve.post("with its author").await;
    let all = [gone.id, kept.id, lost.id];
    assert_eq!(tweets(&bob, &all).await.0, all);
    assert_eq!(users(&bob, &[eve.id, ada.id]).await, [eve.id, ada.id]);

    ada.delete(&gone).await;
    let deleted = eve.call(roost_tests::Method::DELETE, "/v1/users/me");
    deleted.send().await.expect(204);

    let (found, authors) = tweets(&bob, &all).await;
    assert_eq!((found, authors), (vec![kept.id], vec![ada.handle.clone()]));
    assert_eq!(users(&bob, &[eve.id, ada.id]).await, [ada.id]);
}

#[tokio::test]
async fn up_to_a_hundred_ids_can_be_asked_for() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let tweet = ada.post("the one").await;
    let numbers = |count: u64| (1..=count).collect::<Vec<u64>>();

    assert_eq!(users(&ada, &numbers(100)).await, [0; 0]);
    let mut asked = numbers(99);
    asked.push(tweet.id);
    assert_eq!(tweets(&ada, &asked).await.0, [tweet.id]);
    for list in ["users", "tweets"] {
        ada.get(&path(list, &numbers(101)))
            .await
            .expect_problem(400);
    }
}

#[tokio::test]
async fn ids_that_cannot_be_read_are_refused() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    for list in ["users", "tweets"] {
        ada.get(&format!("/v1/{list}")).await.expect_problem(400);
        for bad in BAD_IDS.iter().chain(&["", ",", "0"]) {
            for ids in [(*bad).to_owned(), format!("{UNKNOWN_ID},{bad}")] {
                let path = format!("/v1/{list}?ids={ids}");
                ada.get(&path).await.expect_problem(400);
            }
        }
    }
}
