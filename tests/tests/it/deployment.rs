//! Stories that together go through every part of a deployment: an author becomes a celebrity and normal again, in pages
//! that are handed over; the cache loses keys; an account is deleted. The local cloud has finer tests of each. These show
//! that a deployment is wired, and that its functions have the permissions that they need.

use std::{env, slice};

use roost_tests::{
    Client, Method, PATIENCE, Tables, Target, User, eventually, expect_equal, expect_oracle,
    expect_tier, in_parallel, keys, skip,
};

/// How many followers make a celebrity on this deployment. There is no dwell time.
fn threshold() -> Option<usize> {
    let given = env::var("ROOST_CELEBRITY_THRESHOLD").ok();
    given.and_then(|text| text.parse().ok())
}

async fn everybody_sees(tables: &Tables, people: &[User]) {
    expect_oracle(tables, people, 7, PATIENCE).await;
}

#[tokio::test]
async fn an_author_becomes_a_celebrity_and_normal_again_on_a_deployment() {
    let Some(threshold) = threshold().filter(|_| Target::is_remote()) else {
        return skip("it needs a deployment and its threshold, in ROOST_CELEBRITY_THRESHOLD");
    };
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    let star = roost.sign_up("star").await;
    let fans = roost.sign_up_many("fan", threshold + 1).await;
    let (early, late) = fans.split_at(threshold - 1);
    in_parallel(
        4,
        early.iter().map(|fan| async {
            fan.newest().await;
            fan.follow(&star).await;
        }),
    )
    .await;
    // Pushed, in pages.
    star.post("to the first of you").await;
    everybody_sees(&tables, early).await;
    // More of them are connected than a page holds, so that notices are left page by page, too.
    let mut sockets = in_parallel(2, early[..5].iter().map(User::connect)).await;

    in_parallel(2, late.iter().map(|fan| fan.follow(&star))).await;
    expect_tier(&tables, &star, "celebrity", 1, PATIENCE).await;
    // Pulled.
    let pulled = star.post("to all of you").await;
    everybody_sees(&tables, &fans).await;
    for socket in &mut sockets {
        let news = socket.news().await;
        assert_eq!((news.count, news.newest_id), (1, pulled.id));
    }

    in_parallel(
        4,
        fans[threshold / 2..].iter().map(|fan| fan.unfollow(&star)),
    )
    .await;
    expect_tier(&tables, &star, "normal", 2, PATIENCE).await;
    // Pushed again, on top of what was pulled.
    star.post("to those who stayed").await;
    star.delete(&pulled).await;
    everybody_sees(&tables, &fans).await;
}

#[tokio::test]
async fn what_the_cache_has_lost_is_read_from_the_tables_on_a_deployment() {
    if !Target::is_remote() {
        return skip("the local cloud has finer tests of it");
    }
    let roost = Client::shared().await;
    let (Some(tables), Some(cache)) = (roost.tables().await, roost.cache().await) else {
        return;
    };
    let [author, reader] = roost.sign_up_each(["ada", "bob"]).await;
    let tweets = author.post_many(220, 4).await;
    reader.follow(&author).await;
    reader.newest().await;
    let forget = || async {
        let mut lost = vec![
            format!("identity:{{{}}}", reader.subject()),
            keys::home_timeline(reader.id),
            keys::excluded(reader.id),
            keys::my_celebs(reader.id),
            keys::user_counts(author.id),
        ];
        lost.extend(tweets.iter().map(|tweet| format!("tweet:{{{}}}", tweet.id)));
        let command: Vec<_> = ["DEL"]
            .into_iter()
            .chain(lost.iter().map(String::as_str))
            .collect();
        cache.ask::<u64>(&command).await;
    };

    forget().await;
    let oldest = tweets.iter().map(|tweet| tweet.id).min().expect("tweets");
    let new = format!("/v1/home_timeline/new?since={}", oldest - 1);
    let news: serde_json::Value = reader.get(&new).await.expect(200).read();
    assert_eq!(news["capped"], true, "{news}");

    forget().await;
    // The first page is rebuilt while the reader waits, the rest afterwards.
    assert_eq!(reader.newest().await.data.len(), 20);
    eventually(PATIENCE, "the list is filled", || async {
        let length: usize = cache.ask(&["LLEN", &keys::home_timeline(reader.id)]).await;
        if length >= tweets.len() {
            Ok(())
        } else {
            Err(format!("{length} entries"))
        }
    })
    .await;
    everybody_sees(&tables, slice::from_ref(&reader)).await;

    // Which celebrities a reader follows is asked for when they connect, and whenever they say that they are still there.
    forget().await;
    let mut socket = reader.connect().await;
    forget().await;
    socket.ping().await;
    assert_eq!(socket.next().await["type"], "pong");
}

#[tokio::test]
async fn an_account_leaves_no_key_and_no_relation_behind_on_a_deployment() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    ada.mute(&bob).await;
    bob.mute(&ada).await;
    bob.block(&ada).await;
    ada.call(Method::POST, "/v1/tweets")
        .header("idempotency-key", "once")
        .json(&serde_json::json!({ "text": "once" }))
        .send()
        .await
        .expect(201);

    ada.call(Method::DELETE, "/v1/users/me")
        .send()
        .await
        .expect(204);

    eventually(PATIENCE, "the tweet and the mutes are erased", || async {
        expect_equal("tweets", tables.tweets_of(ada.id).await.len(), 0)?;
        let mutes = tables.relations_count(bob.id, "mutes").await;
        expect_equal("mutes", mutes, 0)
    })
    .await;
}
