//! A deleted account is invisible once the 204 is out, and leaves nothing behind.

use std::time::Duration;

use hyper::Method;
use roost_tests::{
    Client, DynamoGate, Function, LocalCloud, PATIENCE, User, events, eventually, expect_equal,
    expect_timeline, in_parallel,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

async fn delete(user: &User) {
    user.call(Method::DELETE, "/v1/users/me")
        .send()
        .await
        .expect(204);
}

#[tokio::test]
async fn a_deleted_account_is_invisible_once_the_answer_is_out() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    ada.follow(&bob).await;
    bob.newest().await;
    let (lost, kept) = (ada.post("soon gone").await, bob.post("still here").await);
    eventually(PATIENCE, "bob sees both", || async {
        expect_timeline(&bob.newest().await.data, &[kept.id, lost.id])
    })
    .await;
    // As many sandboxes as possible now have her identity in memory.
    ada.newest().await;
    ada.get("/v1/users/me").await.expect(200);

    delete(&ada).await;

    expect_timeline(&bob.newest().await.data, &[kept.id]).expect("only bob's own");
    for path in [
        format!("/v1/users/{}", ada.id),
        format!("/v1/users/by/handle/{}", ada.handle),
        format!("/v1/users/{}/tweets", ada.id),
        format!("/v1/tweets/{}", lost.id),
    ] {
        bob.get(&path).await.expect_problem(404);
    }
    assert!(bob.followers(20).await.is_empty());
    assert!(bob.following(20).await.is_empty());
    bob.call(Method::POST, &format!("/v1/users/{}/follow", ada.id))
        .send()
        .await
        .expect_problem(404);

    for path in ["/v1/users/me", "/v1/home_timeline"] {
        ada.get(path).await.expect_problem(403);
    }
    ada.call(Method::POST, "/v1/tweets")
        .json(&json!({ "text": "a ghost" }))
        .send()
        .await
        .expect_problem(403);
    // Nothing is left to delete, which is what she asked for.
    delete(&ada).await;
    eventually(PATIENCE, "bob's counts know", || bob.expect_counts(0, 0)).await;
}

#[tokio::test]
async fn a_deleted_person_may_come_back_as_somebody_new() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let old = ada.post("from a former life").await;
    ada.newest().await;
    delete(&ada).await;

    let body = json!({ "handle": ada.handle, "name": "Ada again" });
    let again = ada.call(Method::POST, "/v1/users").json(&body).send().await;
    let id = again.expect(201).json()["id"].clone();

    assert_ne!(id, ada.id.to_string());
    for path in ["/v1/users/me", "/v1/home_timeline"] {
        ada.get(path).await.expect(200);
    }
    assert_eq!(ada.get("/v1/users/me").await.expect(200).json()["id"], id);
    assert!(ada.newest().await.data.is_empty());
    let new = ada.post("and from this one").await;
    assert_eq!(new.author_id.to_string(), id.as_str().expect("an id"));
    ada.get(&format!("/v1/tweets/{}", old.id))
        .await
        .expect_problem(404);
}

#[tokio::test]
async fn an_account_with_5000_followers_and_2000_tweets_leaves_nothing_behind_although_killed_half_way()
 {
    let threshold = [("CELEBRITY_THRESHOLD", "4000")];
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&threshold).await else {
        return;
    };
    let roost = cloud.client();
    let ada = roost.sign_up("ada").await;
    let fans = roost.sign_up_many("fan", 5).await;
    in_parallel(5, fans.iter().map(|fan| fan.follow(&ada))).await;
    in_parallel(5, fans.iter().map(|fan| ada.follow(fan))).await;
    ada.mute(&fans[0]).await;
    in_parallel(2, fans[1..3].iter().map(|fan| fan.mute(&ada))).await;
    let [blocked, blocker] = roost.sign_up_each(["blocked", "blocker"]).await;
    ada.block(&blocked).await;
    blocker.block(&ada).await;
    in_parallel(2, [&blocked, &blocker].map(User::newest)).await;
    for n in 0..20 {
        ada.call(Method::POST, "/v1/tweets")
            .header("idempotency-key", &format!("key-{n}"))
            .json(&json!({ "text": format!("number {n}") }))
            .send()
            .await
            .expect(201);
    }
    let first = ada.id - 1_000_000;
    let tweets: Vec<(u64, u64)> = (first..first + 1_980).map(|id| (ada.id, id)).collect();
    tables.add_tweets(&tweets).await;
    let (hers, theirs) = (ada.post("one more").await, fans[0].post("hello").await);
    for fan in &fans {
        fan.like(&hers).await;
    }
    fans[0].hide(&hers).await;
    ada.like(&theirs).await;
    ada.hide(&theirs).await;
    ada.repost(&theirs).await;
    ada.reply(&theirs, "to be forgotten").await;
    // Everybody has read, so that there is something of hers in all caches.
    in_parallel(5, fans.iter().map(User::newest)).await;
    ada.newest().await;
    let followers: Vec<u64> = (1..=5_000).collect();
    tables.follow(&followers, ada.id).await;
    eventually(PATIENCE * 3, "she is a celebrity", || async {
        expect_equal("is_celebrity", ada.profile().await.is_celebrity, true)
    })
    .await;
    in_parallel(5, fans.iter().map(User::newest)).await;
    let body = json!({ "last_read_id": first.to_string(), "version": 0 });
    ada.call(Method::PUT, "/v1/home_timeline/marker")
        .json(&body)
        .send()
        .await
        .expect(200);

    delete(&ada).await;

    let stop = Notify::new();
    let words = [ada.id.to_string(), ada.subject(), ada.handle.clone()];
    let erasing = async {
        // On a busy machine a piece may not survive while sandboxes are killed, which ends after a minute.
        eventually(PATIENCE * 5, "nothing is left in the tables", || async {
            let left = tables.mentions(&words).await;
            expect_equal("items", left.len(), 0)
                .map_err(|complaint| format!("{complaint}, for example {:?}", left.first()))
        })
        .await;
        stop.notify_one();
    };
    let killing = cloud.keep_killing(
        &["erase-users", "apply-follows", "fan-out-tweets"],
        100..400,
        fastrand::Rng::new(),
        &stop,
    );
    let ((), killed) = tokio::join!(erasing, killing);
    println!("{killed} sandboxes killed while an account was erased");
    assert!(killed > 0, "no sandbox was killed, which proves little");

    // Tombstones of tweets stay until no function can still be caching the tweet.
    eventually(PATIENCE * 4, "nothing is left in Redis", || async {
        let left = cache.mentions(ada.id, &words).await;
        expect_equal("keys", left.len(), 0)
            .map_err(|complaint| format!("{complaint}, for example {:?}", left.first()))
    })
    .await;
    let left = tables.mentions(&words).await;
    assert!(left.is_empty(), "{left:?}");
    for fan in &fans {
        eventually(PATIENCE, "counts know", || fan.expect_counts(0, 0)).await;
        let left = fan.newest().await.data;
        assert!(left.iter().all(|tweet| tweet.id == theirs.id), "{left:?}");
        assert_eq!(tables.relations_count(fan.id, "mutes").await, 0);
    }
    assert_eq!(tables.relations_count(blocker.id, "blocks").await, 0);
    eventually(PATIENCE, "nothing of hers is counted any more", || async {
        let found = fans[0].tweet(theirs.id).await;
        let counts = [found.like_count, found.repost_count, found.reply_count];
        expect_equal("counts", counts, [0; 3])
    })
    .await;
}

/// A function of this cloud that is given an event. Its write to this table is held, and so is everything that it asks
/// about the user after that.
fn held_at_its_write(
    cloud: &LocalCloud,
    name: &str,
    event: Value,
    (write, table): (&'static str, &'static str),
    user: &User,
) -> (Function, DynamoGate) {
    let row = format!("\"user#{}\"", user.id);
    let gate = DynamoGate::start(
        &cloud.environment()["AWS_ENDPOINT_URL_DYNAMODB"],
        move |text| text.starts_with(write) || text.starts_with("GetItem") && text.contains(&row),
    );
    let changed = [("AWS_ENDPOINT_URL_DYNAMODB", gate.url.as_str())];
    let function = Function::start(cloud, name, &changed);
    function.begin(event);
    // What it asks before its write goes through.
    for _ in 0..5 {
        let held = gate.wait_until_held();
        if held.starts_with(write) && held.contains(table) {
            return (function, gate);
        }
        gate.let_through();
    }
    panic!("{name} makes no {write} to {table}");
}

#[tokio::test]
async fn a_sandbox_that_writes_after_the_erasure_and_dies_leaves_no_tweet_and_no_edge_of_nobody() {
    let Some((cloud, tables, _)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let roost = cloud.client();
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    ada.post("in time").await;
    let tweet = json!({ "text": "too late" });
    let post = events::http("POST", "/v1/tweets", &ada.subject(), Some(&tweet));
    let path = format!("/v1/users/{}/follow", bob.id);
    let follow = events::http_request("POST", &path, &ada.subject());
    let tweet = ("PutItem", "roost-tweets");
    let (posting, tweet_gate) = held_at_its_write(&cloud, "post-tweet", post, tweet, &ada);
    let edge = ("TransactWriteItems", "roost-following");
    let (following, edge_gate) = held_at_its_write(&cloud, "follow-user", follow, edge, &ada);

    delete(&ada).await;

    let words = [ada.id.to_string(), ada.subject(), ada.handle.clone()];
    // At most the item that drives the erasure is left.
    eventually(PATIENCE, "all pieces are removed", || async {
        let left = tables.mentions(&words).await;
        let others = left.iter().filter(|item| !item.contains("erasure#"));
        expect_equal("other items", others.count(), 0)
    })
    .await;
    // Right behind its last piece the erasure looks whether there is more, and finds nothing.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for gate in [tweet_gate, edge_gate] {
        gate.let_through();
        // Each dies when it has written and looks whether the account is still there.
        let held = gate.wait_until_held();
        assert!(held.starts_with("GetItem"), "{held}");
    }
    drop((posting, following));

    eventually(PATIENCE * 3, "nothing is left in the tables", || async {
        let left = tables.mentions(&words).await;
        expect_equal("items", left.len(), 0)
            .map_err(|complaint| format!("{complaint}, for example {:?}", left.first()))
    })
    .await;
    eventually(PATIENCE, "counts know", || bob.expect_counts(0, 0)).await;
}
