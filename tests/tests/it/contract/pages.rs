//! Listings, page by page.

use std::collections::BTreeSet;

use roost_tests::{Client, Profile, ids, in_parallel};
use serde_json::{Value, json};

use super::{assert_tweet, assert_user};

#[track_caller]
fn assert_each_once(listed: &[Profile], expected: &BTreeSet<u64>) {
    let distinct: BTreeSet<_> = listed.iter().map(|user| user.id).collect();
    assert_eq!(&distinct, expected);
    assert_eq!(listed.len(), expected.len(), "somebody is listed twice");
}

#[tokio::test]
async fn pages_of_followers_list_everybody_once() {
    let roost = Client::shared().await;
    let star = roost.sign_up("star").await;
    let fans = roost.sign_up_many("fan", 11).await;
    in_parallel(4, fans.iter().map(|fan| fan.follow(&star))).await;
    let expected = fans.iter().map(|fan| fan.id).collect();

    for limit in [1, 3, 11, 100] {
        assert_each_once(&star.followers(limit).await, &expected);
    }
    let page = star
        .get(&format!("/v1/users/{}/followers?limit=4", star.id))
        .await
        .expect(200)
        .json();
    assert_eq!(page["meta"]["result_count"], 4);
    assert!(page["meta"]["next_cursor"].is_string(), "{page}");
    page["data"]
        .as_array()
        .expect("a list")
        .iter()
        .for_each(assert_user);
}

#[tokio::test]
async fn pages_of_followed_people_list_everybody_once() {
    let roost = Client::shared().await;
    let fan = roost.sign_up("fan").await;
    let stars = roost.sign_up_many("star", 11).await;
    in_parallel(4, stars.iter().map(|star| fan.follow(star))).await;
    let expected = stars.iter().map(|star| star.id).collect();

    for limit in [1, 3, 11, 100] {
        assert_each_once(&fan.following(limit).await, &expected);
    }
}

#[tokio::test]
async fn followed_people_come_in_the_order_of_time_and_those_without_a_time_last() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    let fan = roost.sign_up("fan").await;
    let mut stars = roost.sign_up_many("star", 9).await;
    // Not in the order of their ids. The first three follows are as an earlier version wrote them.
    stars.sort_by_key(|star| (star.id % 7, star.id));
    let mut early: Vec<u64> = stars[..3].iter().map(|star| star.id).collect();
    tables.add_following(fan.id, &early).await;
    for star in &stars[3..] {
        fan.follow(star).await;
        // A follow that is there already keeps its time.
        fan.follow(&stars[3]).await;
    }
    early.sort_unstable();
    let timed = stars[3..].iter().rev().map(|star| star.id);
    let expected: Vec<u64> = timed.chain(early).collect();

    for limit in [1, 2, 3, 6, 8, 9, 100] {
        let listed = fan.following(limit).await;
        let listed: Vec<u64> = listed.iter().map(|user| user.id).collect();
        assert_eq!(listed, expected, "with limit {limit}");
    }

    // The last becomes the first by another follow, and is then in the list once.
    let last = &stars[3];
    fan.unfollow(last).await;
    fan.follow(last).await;
    let again = fan.following(4).await;
    assert_eq!(again.len(), 9);
    assert_eq!(again[0].id, last.id);
}

#[tokio::test]
async fn a_page_that_ends_with_the_list_leads_nowhere_and_a_foreign_cursor_is_refused() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let others = roost.sign_up_many("other", 4).await;
    for other in &others {
        other.follow(&ada).await;
        ada.follow(other).await;
    }
    let mut cursors = Vec::new();
    for list in ["followers", "following"] {
        let path = format!("/v1/users/{}/{list}", ada.id);
        let whole = bob.get(&format!("{path}?limit=4")).await.expect(200).json();
        assert_eq!(whole["meta"]["result_count"], 4);
        assert_eq!(whole["meta"].get("next_cursor"), None, "{list}");
        let part = bob.get(&format!("{path}?limit=2")).await.expect(200).json();
        let next = part["meta"]["next_cursor"].as_str().expect("a cursor");
        let rest = bob.get(&format!("{path}?limit=2&cursor={next}")).await;
        assert_eq!(
            rest.expect(200).json()["meta"],
            json!({ "result_count": 2 })
        );
        cursors.push(next.to_owned());
    }
    for (list, cursor) in [
        ("followers", &cursors[1]),
        ("following", &cursors[0]),
        ("tweets", &cursors[0]),
        ("tweets", &cursors[1]),
    ] {
        let path = format!("/v1/users/{}/{list}?cursor={cursor}", ada.id);
        bob.get(&path).await.expect_problem(400);
    }
}

#[tokio::test]
async fn pages_of_tweets_are_newest_first_and_have_each_once() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let posted = ada.post_many(23, 4).await;

    for limit in [1, 7, 23, 100] {
        assert_eq!(ada.tweets(limit).await, posted, "with limit {limit}");
    }
    let page = ada
        .get(&format!("/v1/users/{}/tweets", ada.id))
        .await
        .expect(200)
        .json();
    assert_eq!(page["meta"]["result_count"], 20, "20 is the default");
    let profile = ada.get("/v1/users/me").await.expect(200).json();
    assert_eq!(page["includes"], json!({ "users": [profile] }));
    page["data"]
        .as_array()
        .expect("a list")
        .iter()
        .for_each(assert_tweet);
}

#[tokio::test]
async fn the_last_page_leads_nowhere() {
    let roost = Client::shared().await;
    let [ada, fan] = roost.sign_up_each(["ada", "fan"]).await;
    fan.follow(&ada).await;
    ada.post("one").await;

    for path in ["followers", "tweets"] {
        let page = ada
            .get(&format!("/v1/users/{}/{path}?limit=100", ada.id))
            .await
            .expect(200)
            .json();
        assert_eq!(page["meta"]["result_count"], 1);
        assert_eq!(page["meta"]["next_cursor"], Value::Null);
    }
    let empty = ada
        .get(&format!("/v1/users/{}/following", ada.id))
        .await
        .expect(200)
        .json();
    assert_eq!(empty["data"], Value::Array(Vec::new()));
    assert_eq!(empty["meta"]["result_count"], 0);
    assert_eq!(empty["meta"]["next_cursor"], Value::Null);
}

#[tokio::test]
async fn a_home_timeline_has_20_tweets_a_page_unless_asked_otherwise() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let posted = ada.post_many(25, 4).await;

    let page = ada.get("/v1/home_timeline").await.expect(200).json();

    assert_eq!(page["meta"]["result_count"], 20);
    assert_eq!(page["meta"]["complete"], true);
    assert_eq!(page["meta"]["newest_id"], posted[0].id.to_string());
    assert_eq!(page["meta"]["oldest_id"], posted[19].id.to_string());
    assert_eq!(page["meta"]["next_cursor"], posted[19].id.to_string());
    page["data"]
        .as_array()
        .expect("a list")
        .iter()
        .for_each(assert_tweet);
    page["includes"]["users"]
        .as_array()
        .expect("a list")
        .iter()
        .for_each(assert_user);
    assert_eq!(ids(&ada.walk(100).await), ids(&posted));
}
