use roost_tests::{
    Answer, Client, Listing, Method, PATIENCE, Tweet, User, eventually, expect_equal,
    expect_timeline, ids,
};
use serde_json::{Value, json};

use super::{BAD_IDS, UNKNOWN_ID, assert_tweet};

async fn post(user: &User, body: &Value) -> Answer {
    let call = user.call(Method::POST, "/v1/tweets");
    call.json(body).send().await
}

#[tokio::test]
async fn a_reply_names_what_it_answers_and_is_listed_and_counted_there_soon() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let tweet = ada.post("what do you think?").await;
    assert_eq!((tweet.reply_count, &tweet.in_reply_to), (0, &None));

    let body = json!({ "text": "a lot", "in_reply_to": tweet.id.to_string() });
    let reply = post(&bob, &body).await.expect(201).json();

    assert_tweet(&reply);
    let parent = json!({ "tweet_id": tweet.id.to_string(), "author_id": ada.id.to_string() });
    assert_eq!(reply["in_reply_to"], parent);
    let path = format!("/v1/tweets/{}", reply["id"].as_str().expect("an id"));
    let single = eve.get(&path).await.expect(200).json();
    assert_eq!(single["in_reply_to"], parent);
    let path = format!("/v1/tweets/{}/replies", tweet.id);
    let listed = eventually(PATIENCE, "the reply is listed", || async {
        let page = eve.get(&path).await.expect(200).json();
        expect_equal(
            "result_count",
            page["meta"]["result_count"].as_u64(),
            Some(1),
        )?;
        Ok(page)
    })
    .await;
    assert_eq!(listed["data"], json!([reply]));
    assert_eq!(listed["includes"]["users"][0]["handle"], bob.handle);
    assert!(listed["meta"].get("next_cursor").is_none(), "{listed}");
    eventually(PATIENCE, "the reply is counted", || async {
        let count = eve.tweet(tweet.id).await.reply_count;
        expect_equal("reply_count", count, 1)
    })
    .await;
    let plain = ada.get(&format!("/v1/users/{}/tweets", ada.id)).await;
    let plain: Listing<Tweet> = plain.expect(200).read();
    assert_eq!(plain.data[0].reply_count, 1);
}

#[tokio::test]
async fn replies_come_in_pages_newest_first() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let tweet = ada.post("what do you think?").await;
    let mut expected = Vec::new();
    for n in 0..7 {
        let author = [&ada, &bob, &eve][n % 3];
        let reply = author.reply(&tweet, &format!("number {n}")).await;
        expected.insert(0, reply.id);
    }

    for limit in [100, 3, 1] {
        eventually(PATIENCE, "all replies are listed", || async {
            expect_timeline(&eve.replies_to(&tweet, limit).await, &expected)
        })
        .await;
    }
    let path = format!("/v1/tweets/{}/replies?limit=3", tweet.id);
    let page: Listing<Tweet> = eve.get(&path).await.expect(200).read();
    assert_eq!(ids(&page.data), expected[..3]);
    assert!(page.meta.next_cursor.is_some());
}

#[tokio::test]
async fn a_reply_to_what_is_no_tweet_is_refused() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let gone = ada.post("soon gone").await;
    ada.delete(&gone).await;

    for id in [UNKNOWN_ID.to_owned(), gone.id.to_string()] {
        let body = json!({ "text": "hello?", "in_reply_to": id });
        post(&ada, &body).await.expect_problem(404);
        let path = format!("/v1/tweets/{id}/replies");
        ada.get(&path).await.expect_problem(404);
    }
    for id in BAD_IDS {
        let body = json!({ "text": "hello?", "in_reply_to": id });
        let refused = post(&ada, &body).await.expect_kind(422, "invalid");
        assert_eq!(refused["errors"][0]["pointer"], "/in_reply_to");
        let path = format!("/v1/tweets/{id}/replies");
        ada.get(&path).await.expect_problem(400);
    }
    // To say that it answers nothing is to say nothing.
    let body = json!({ "text": "hello?", "in_reply_to": null });
    let posted = post(&ada, &body).await.expect(201).json();
    assert!(posted.get("in_reply_to").is_none(), "{posted}");
    assert_eq!(ada.tweets_and_replies(100).await.len(), 1);
}

#[tokio::test]
async fn a_blocked_person_cannot_reply() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let tweet = ada.post("not for bob").await;
    let of_bob = bob.post("not for ada").await;
    ada.block(&bob).await;

    let refused = bob.try_reply(tweet.id, "why?").await;
    refused.expect_problem(403);
    assert_eq!(
        bob.tweets_and_replies(100).await,
        std::slice::from_ref(&of_bob)
    );
    // The blocker may: nobody has blocked her.
    ada.reply(&of_bob, "because").await;

    ada.unblock(&bob).await;
    bob.reply(&tweet, "thanks").await;
}

#[tokio::test]
async fn a_users_page_has_replies_to_others_only_if_asked() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let tweet = ada.post("what do you think?").await;
    let own = bob.post("hello").await;
    let reply = bob.reply(&tweet, "a lot").await;
    let thread = bob.reply(&own, "hello again").await;
    bob.repost(&tweet).await;

    let without = [tweet.id, thread.id, own.id];
    assert_eq!(ids(&bob.tweets(100).await), without);
    let with = [tweet.id, thread.id, reply.id, own.id];
    assert_eq!(ids(&bob.tweets_and_replies(100).await), with);
    for value in ["", "reposts", "true", "replies,reposts", "Replies"] {
        let path = format!("/v1/users/{}/tweets?include={value}", bob.id);
        ada.get(&path).await.expect_problem(400);
    }
}

#[tokio::test]
async fn a_key_that_is_used_for_another_reply_is_refused() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let (first, second) = (ada.post("first").await, ada.post("second").await);
    let reply = async |tweet: &Tweet| {
        let body = json!({ "text": "same words", "in_reply_to": tweet.id.to_string() });
        let call = ada.call(Method::POST, "/v1/tweets");
        let call = call.header("idempotency-key", "same").json(&body);
        call.send().await
    };

    let posted = reply(&first).await.expect(201).json();

    assert_eq!(reply(&first).await.expect(201).json(), posted);
    reply(&second).await.expect_problem(422);
}

#[tokio::test]
async fn a_reply_is_repeated_by_its_key_although_its_parent_is_gone() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let parent = ada.post("soon gone").await;
    let ask = async |key: &str| {
        let body = json!({ "text": "a reply", "in_reply_to": parent.id.to_string() });
        let call = bob.call(Method::POST, "/v1/tweets").json(&body);
        call.header("idempotency-key", key).send().await
    };
    let reply: Tweet = ask("once").await.expect(201).read();
    ada.delete(&parent).await;

    let repeated: Tweet = ask("once").await.expect(201).read();

    assert_eq!(repeated.id, reply.id);
    ask("another").await.expect_kind(404, "tweet-not-found");
    bob.delete(&reply).await;
    ask("once").await.expect_kind(409, "tweet-deleted");
}
