use roost_tests::{
    Answer, Client, Function, Method, Tweet, User, body_of, events, ids, in_parallel, page_ids,
};
use serde_json::{Value, json};

use crate::isolated_stack::IsolatedStack;

use super::{BAD_IDS, UNKNOWN_ID, assert_tweet};

const FAMILY: &str = "👨‍👩‍👧‍👦";

async fn post(user: &User, body: &Value) -> Answer {
    user.call(Method::POST, "/v1/tweets")
        .json(body)
        .send()
        .await
}

async fn post_with_key(user: &User, key: &str, text: &str) -> Answer {
    user.call(Method::POST, "/v1/tweets")
        .header("idempotency-key", key)
        .json(&json!({ "text": text }))
        .send()
        .await
}

#[tokio::test]
async fn a_posted_tweet_can_be_read_by_everybody() {
    let roost = Client::shared().await;
    let [ada, reader] = roost.sign_up_each(["ada", "reader"]).await;

    let posted = post(&ada, &json!({ "text": "hello" }))
        .await
        .expect(201)
        .json();

    assert_tweet(&posted);
    assert_eq!(posted["text"], "hello");
    assert_eq!(posted["author_id"], ada.id.to_string());
    let path = format!("/v1/tweets/{}", posted["id"].as_str().expect("an id"));
    let mut read = reader.get(&path).await.expect(200).json();
    // The author comes along, beside the fields of the tweet.
    let author = reader.get(&format!("/v1/users/{}", ada.id)).await;
    let includes = json!({ "users": [author.expect(200).json()] });
    let fields = read.as_object_mut().expect("an object");
    assert_eq!(fields.remove("includes"), Some(includes));
    assert_eq!(read, posted);
    let listed = reader
        .get(&format!("/v1/users/{}/tweets", ada.id))
        .await
        .expect(200)
        .json();
    assert_eq!(listed["data"], json!([posted]));
}

#[tokio::test]
async fn a_tweet_has_up_to_280_characters_as_readers_count_them() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    for text in [
        FAMILY.repeat(160),
        "👍🏽".repeat(280),
        "x".repeat(280),
        "e\u{301}".repeat(280),
        "\u{1F1E9}\u{1F1EA}\n\"\\ <b>".to_owned(),
    ] {
        let posted: Tweet = post(&ada, &json!({ "text": text }))
            .await
            .expect(201)
            .read();
        assert_eq!(posted.text, text);
        let stored: Tweet = ada
            .get(&format!("/v1/tweets/{}", posted.id))
            .await
            .expect(200)
            .read();
        assert_eq!(stored, posted);
        assert_eq!(ada.newest().await.data[0], posted);
    }
    // A character can have any number of accents, so the bytes count as well.
    let accents = format!("a{}", "\u{301}".repeat(14_000));
    for text in [FAMILY.repeat(164), "x".repeat(281), accents] {
        post(&ada, &json!({ "text": text }))
            .await
            .expect_problem(422);
    }
    assert_eq!(ada.tweets(100).await.len(), 5, "a refused tweet was stored");
}

#[tokio::test]
async fn a_tweet_says_something() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    for text in ["", " ", " \t\r\n", "\u{3000}\u{a0}"] {
        post(&ada, &json!({ "text": text }))
            .await
            .expect_problem(422);
    }

    assert_eq!(ada.tweets(100).await, []);
}

#[tokio::test]
async fn a_tweet_that_is_not_there_is_not_found() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    ada.get(&format!("/v1/tweets/{UNKNOWN_ID}"))
        .await
        .expect_problem(404);
    ada.call(Method::DELETE, &format!("/v1/tweets/{UNKNOWN_ID}"))
        .send()
        .await
        .expect(204);
}

#[tokio::test]
async fn deleting_tweets_that_never_were_leaves_nothing_behind() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let ada = roost.sign_up("ada").await;

    for _ in 0..5 {
        let id = fastrand::u64(1..1 << 62);
        ada.call(Method::DELETE, &format!("/v1/tweets/{id}"))
            .send()
            .await
            .expect(204);
        let exists: bool = cache.ask(&["EXISTS", &format!("tweet:{{{id}}}")]).await;
        assert!(!exists, "a key for tweet {id}, which never was");
    }
}

/// On tables without streams, whose consumer would bury it as well.
#[tokio::test]
async fn a_delete_that_is_repeated_buries_what_the_first_attempt_left_in_the_cache() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let Some(stack) = IsolatedStack::beside(roost).await else {
        return;
    };
    let [ada, tweet] = [(); 2].map(|()| fastrand::u64(1 << 40..1 << 50));
    let subject = format!("fabricated|{ada}");
    stack.tables.add_profiles(&[ada]).await;
    stack.tables.add_subjects(&[(subject.clone(), ada)]).await;
    stack.tables.add_tweets(&[(ada, tweet)]).await;
    let start = |name: &str| Function::start_in(stack.environment.clone(), name, &[]);
    let (home_timeline, delete_tweet) = (start("home-timeline"), start("delete-tweet"));
    let read = || {
        let event = events::http("GET", "/v1/home_timeline", &subject, None);
        page_ids(&body_of(&home_timeline.invoke(event), 200))
    };
    let delete = || {
        let path = format!("/v1/tweets/{tweet}");
        let event = events::http_request("DELETE", &path, &subject);
        assert_eq!(delete_tweet.invoke(event)["statusCode"], 204);
    };
    assert_eq!(read(), [tweet]);
    let key = format!("tweet:{{{tweet}}}");
    let cached: String = cache.ask(&["GET", &key]).await;
    delete();
    // As if the first attempt had not come so far.
    cache.ask::<()>(&["SET", &key, &cached]).await;
    assert_eq!(read(), [tweet], "the cache says that it is there");

    delete();

    assert!(read().is_empty(), "a deleted tweet is shown");
}

#[tokio::test]
async fn a_malformed_tweet_id_is_refused() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    for id in BAD_IDS {
        for method in [Method::GET, Method::DELETE] {
            ada.call(method, &format!("/v1/tweets/{id}"))
                .send()
                .await
                .expect_problem(400);
        }
    }
}

#[tokio::test]
async fn a_deleted_tweet_is_gone_and_can_be_deleted_again() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let (kept, deleted) = (ada.post("kept").await, ada.post("deleted").await);
    ada.newest().await;

    ada.delete(&deleted).await;

    ada.get(&format!("/v1/tweets/{}", deleted.id))
        .await
        .expect_problem(404);
    ada.delete(&deleted).await;
    ada.get(&format!("/v1/tweets/{}", deleted.id))
        .await
        .expect_problem(404);
    assert_eq!(ids(&ada.tweets(100).await), [kept.id]);
}

#[tokio::test]
async fn nobody_deletes_the_tweet_of_somebody_else() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let tweet = ada.post("mine").await;

    bob.call(Method::DELETE, &format!("/v1/tweets/{}", tweet.id))
        .send()
        .await
        .expect_problem(403);

    ada.get(&format!("/v1/tweets/{}", tweet.id))
        .await
        .expect(200);
}

#[tokio::test]
async fn the_same_idempotency_key_and_body_store_one_tweet() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    let first: Tweet = post_with_key(&ada, "key-1", "once")
        .await
        .expect(201)
        .read();
    let again = post_with_key(&ada, "key-1", "once").await.expect(201);
    let second: Tweet = again.read();

    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(second, first);
    assert_eq!(ids(&ada.tweets(100).await), [first.id]);
    assert_eq!(ids(&ada.walk(100).await), [first.id]);
}

#[tokio::test]
async fn the_same_idempotency_key_many_times_at_once_stores_one_tweet() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    let answers = in_parallel(8, (0..8).map(|_| post_with_key(&ada, "key-2", "once"))).await;

    let posted: Vec<Tweet> = answers
        .into_iter()
        .map(|answer| answer.expect(201).read())
        .collect();
    assert!(
        posted.iter().all(|tweet| *tweet == posted[0]),
        "several tweets for one key: {:?}",
        ids(&posted)
    );
    assert_eq!(ids(&ada.tweets(100).await), [posted[0].id]);
}

#[tokio::test]
async fn the_same_idempotency_key_with_another_body_is_refused() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let first: Tweet = post_with_key(&ada, "key-3", "this")
        .await
        .expect(201)
        .read();

    post_with_key(&ada, "key-3", "that")
        .await
        .expect_kind(422, "key-reused");

    assert_eq!(ids(&ada.tweets(100).await), [first.id]);
}

#[tokio::test]
async fn the_key_of_a_deleted_tweet_brings_no_ghost_back() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let post = async |key: &str| post_with_key(&ada, key, "soon gone").await;
    let first: Tweet = post("key-6").await.expect(201).read();
    ada.delete(&first).await;

    post("key-6").await.expect_kind(409, "tweet-deleted");

    assert_eq!(ada.tweets(100).await, []);
    let again: Tweet = post("key-7").await.expect(201).read();
    assert_ne!(again.id, first.id);
}

#[tokio::test]
async fn an_idempotency_key_belongs_to_the_person_who_used_it() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;

    let first: Tweet = post_with_key(&ada, "key-4", "mine")
        .await
        .expect(201)
        .read();
    let second: Tweet = post_with_key(&bob, "key-4", "mine too")
        .await
        .expect(201)
        .read();
    let third: Tweet = post_with_key(&ada, "key-5", "mine")
        .await
        .expect(201)
        .read();

    assert_eq!((first.author_id, second.author_id), (ada.id, bob.id));
    assert_eq!(ids(&ada.tweets(100).await), [third.id, first.id]);
    assert_eq!(ids(&bob.tweets(100).await), [second.id]);
}
