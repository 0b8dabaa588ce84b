use roost_tests::{
    Client, Listing, Method, PATIENCE, Tweet, User, eventually, expect_equal, expect_timeline, ids,
    shown,
};
use serde_json::json;

use super::{BAD_IDS, UNKNOWN_ID, assert_tweet};

async fn expect_likes(reader: &User, tweet: &Tweet, count: u64) {
    eventually(PATIENCE, "likes are counted", || async {
        expect_equal("like_count", reader.tweet(tweet.id).await.like_count, count)
    })
    .await;
}

async fn likes(user: &User, query: &str) -> Listing<Tweet> {
    let path = format!("/v1/users/me/likes{query}");
    user.get(&path).await.expect(200).read()
}

#[tokio::test]
async fn a_like_is_the_callers_at_once_and_counted_soon() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    bob.follow(&ada).await;
    let tweet = ada.post("like me").await;
    assert_eq!((tweet.like_count, tweet.liked), (0, false));
    bob.eventually_sees(&[tweet.id]).await;

    bob.like(&tweet).await;

    assert!(bob.tweet(tweet.id).await.liked);
    assert!(bob.newest().await.data[0].liked);
    assert!(!eve.tweet(tweet.id).await.liked);
    // A second like by the same person is no second like.
    bob.like(&tweet).await;
    eve.like(&tweet).await;
    expect_likes(&ada, &tweet, 2).await;
    eventually(PATIENCE, "the home page shows it", || async {
        expect_equal("like_count", bob.newest().await.data[0].like_count, 2)
    })
    .await;
    let listed = ada.get(&format!("/v1/users/{}/tweets", ada.id)).await;
    let listed: Listing<Tweet> = listed.expect(200).read();
    assert_eq!(
        (listed.data[0].like_count, listed.data[0].liked),
        (2, false)
    );

    bob.unlike(&tweet).await;
    assert!(!bob.newest().await.data[0].liked);
    bob.unlike(&tweet).await;
    expect_likes(&ada, &tweet, 1).await;
}

#[tokio::test]
async fn reactions_to_what_is_no_tweet_are_refused() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let gone = ada.post("soon gone").await;
    ada.delete(&gone).await;

    for reaction in ["like", "repost", "hide"] {
        for (id, status) in [(UNKNOWN_ID.to_owned(), 404), (gone.id.to_string(), 404)] {
            let path = format!("/v1/tweets/{id}/{reaction}");
            ada.call(Method::PUT, &path)
                .send()
                .await
                .expect_problem(status);
            // To take back what never was is no mistake, and leaves nothing behind.
            ada.call(Method::DELETE, &path).send().await.expect(204);
        }
        for id in BAD_IDS {
            for method in [Method::PUT, Method::DELETE] {
                let path = format!("/v1/tweets/{id}/{reaction}");
                ada.call(method, &path).send().await.expect_problem(400);
            }
        }
    }
}

#[tokio::test]
async fn a_blocked_person_can_neither_like_nor_repost() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let tweet = ada.post("not for bob").await;
    let block = format!("/v1/users/{}/block", bob.id);
    ada.call(Method::PUT, &block).send().await.expect(204);
    let paths = ["like", "repost"].map(|reaction| format!("/v1/tweets/{}/{reaction}", tweet.id));
    for path in &paths {
        bob.call(Method::PUT, path).send().await.expect_problem(403);
    }
    ada.call(Method::DELETE, &block).send().await.expect(204);
    for path in &paths {
        bob.call(Method::PUT, path).send().await.expect(204);
    }
}

#[tokio::test]
async fn a_repost_is_the_callers_at_once_and_counted_soon() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    eve.follow(&bob).await;
    let tweet = ada.post("pass me on").await;
    assert_eq!((tweet.repost_count, tweet.reposted), (0, false));

    bob.repost(&tweet).await;

    assert!(bob.tweet(tweet.id).await.reposted);
    assert!(!eve.tweet(tweet.id).await.reposted);
    // A second repost by the same person is no second repost; one's own tweet may be reposted.
    bob.repost(&tweet).await;
    ada.repost(&tweet).await;
    eventually(PATIENCE, "reposts are counted", || async {
        let count = eve.tweet(tweet.id).await.repost_count;
        expect_equal("repost_count", count, 2)
    })
    .await;
    let expected = [(tweet.id, Some(bob.id))];
    eventually(PATIENCE, "a follower of bob has it", || async {
        let found = shown(&eve.newest().await.data);
        expect_equal("home", found, expected.to_vec())
    })
    .await;

    // The same on every page: the original with its counts, and what the caller did.
    let home = eve.get("/v1/home_timeline").await.expect(200).json();
    let of_bob = format!("/v1/users/{}/tweets", bob.id);
    let listed = eve.get(&of_bob).await.expect(200).json();
    for page in [&home, &listed] {
        let item = &page["data"][0];
        assert_tweet(item);
        assert_eq!(item["id"], tweet.id.to_string());
        assert_eq!(item["author_id"], ada.id.to_string());
        assert_eq!(item["text"], "pass me on");
        assert_eq!(item["created_at"], tweet.created_at);
        assert_eq!(item["repost_count"], 2, "{item}");
        assert_eq!(item["reposted"], false, "{item}");
        assert_eq!(item["reposted_by"]["user_id"], bob.id.to_string());
        let users = page["includes"]["users"].as_array().expect("users").iter();
        let mut handles: Vec<_> = users.map(|user| user["handle"].as_str()).collect();
        handles.sort_unstable();
        let mut people = [Some(ada.handle.as_str()), Some(bob.handle.as_str())];
        people.sort_unstable();
        assert_eq!(handles, people);
    }
    assert!(bob.newest().await.data[0].reposted);
    assert!(bob.tweets(20).await[0].reposted);
    // Asked for by its id, it is the tweet and nobody's repost.
    let many = format!("/v1/tweets?ids={}", tweet.id);
    let many: Listing<Tweet> = bob.get(&many).await.expect(200).read();
    let single = bob.tweet(tweet.id).await;
    assert_eq!(many.data, std::slice::from_ref(&single));
    assert_eq!((single.repost_count, single.reposted), (2, true));
    assert_eq!(single.reposted_by, None);

    bob.unrepost(&tweet).await;
    bob.unrepost(&tweet).await;
    assert!(!bob.tweet(tweet.id).await.reposted);
    assert!(bob.tweets(20).await.is_empty());
    assert!(eve.newest().await.data.is_empty());
    eventually(PATIENCE, "one is left", || async {
        let count = eve.tweet(tweet.id).await.repost_count;
        expect_equal("repost_count", count, 1)
    })
    .await;
}

#[tokio::test]
async fn the_id_of_a_repost_leads_to_the_original() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let tweet = ada.post("pass me on").await;
    bob.repost(&tweet).await;
    let repost = bob.newest().await.meta.newest_id.expect("a repost");

    for reaction in ["like", "repost", "hide"] {
        let path = format!("/v1/tweets/{repost}/{reaction}");
        eve.call(Method::PUT, &path).send().await.expect(204);
    }
    let reply = eve.try_reply(repost, "nice").await.expect(201);
    let reply: Tweet = reply.read();

    let parent = reply.in_reply_to.as_ref().map(|parent| parent.tweet_id);
    assert_eq!(parent, Some(tweet.id));
    // It is no tweet by itself, and is not deleted like one.
    let path = format!("/v1/tweets/{repost}");
    bob.get(&path).await.expect_problem(404);
    bob.call(Method::DELETE, &path).send().await.expect(204);
    eve.call(Method::DELETE, &path)
        .send()
        .await
        .expect_problem(403);
    assert!(bob.newest().await.has(&tweet));
    let seen = eve.tweet(tweet.id).await;
    assert_eq!((seen.liked, seen.reposted), (true, true));
    let path = format!("/v1/tweets/{repost}/replies");
    eventually(
        PATIENCE,
        "the reply is listed and all is counted",
        || async {
            let listed: Listing<Tweet> = bob.get(&path).await.expect(200).read();
            expect_timeline(&listed.data, &[reply.id])?;
            let seen = bob.tweet(tweet.id).await;
            let counts = [seen.like_count, seen.reply_count, seen.repost_count];
            expect_equal("counts", counts, [1, 1, 2])
        },
    )
    .await;
}

#[tokio::test]
async fn the_callers_likes_are_listed_newest_like_first() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let mut tweets = Vec::new();
    for n in 0..5 {
        tweets.push(ada.post(&format!("number {n}")).await);
    }
    // Not in the order of the tweets.
    let order = [3, 0, 4, 1];
    for n in order {
        bob.like(&tweets[n]).await;
    }
    let expected: Vec<u64> = order.iter().rev().map(|n| tweets[*n].id).collect();

    eventually(PATIENCE, "all likes are listed", || async {
        expect_equal("likes", ids(&likes(&bob, "").await.data), expected.clone())
    })
    .await;
    let body = bob.get("/v1/users/me/likes").await.expect(200).json();
    body["data"]
        .as_array()
        .expect("a list")
        .iter()
        .for_each(assert_tweet);
    assert!(
        body["data"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|tweet| tweet["liked"] == true)
    );
    assert_eq!(body["includes"]["users"][0]["handle"], ada.handle);
    // In pages, and without what was deleted, whether or not its like is gone already.
    ada.delete(&tweets[4]).await;
    let first = likes(&bob, "?limit=2").await;
    let cursor = first.meta.next_cursor.expect("another page");
    let second = likes(&bob, &format!("?limit=2&cursor={cursor}")).await;
    let all = [ids(&first.data), ids(&second.data)].concat();
    assert_eq!(all, [tweets[1].id, tweets[0].id, tweets[3].id]);
    assert_eq!(second.meta.next_cursor, None);
    assert!(likes(&ada, "").await.data.is_empty());
    for query in ["?cursor=1", "?cursor=", "?limit=0", "?cursor=l1"] {
        let path = format!("/v1/users/me/likes{query}");
        bob.get(&path).await.expect_problem(400);
    }
}

#[tokio::test]
async fn a_hidden_tweet_leaves_the_callers_home_and_nothing_else() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    bob.follow(&ada).await;
    eve.follow(&ada).await;
    let mut tweets = ada.post_many(4, 1).await;
    bob.eventually_sees(&ids(&tweets)).await;
    eve.eventually_sees(&ids(&tweets)).await;

    bob.hide(&tweets[1]).await;

    let hidden = tweets.remove(1);
    expect_timeline(&bob.newest().await.data, &ids(&tweets)).expect("without the hidden one");
    expect_timeline(&bob.walk(1).await, &ids(&tweets)).expect("page by page");
    let since = format!("/v1/home_timeline?since_id={}", tweets[2].id);
    let above: Listing<Tweet> = bob.get(&since).await.expect(200).read();
    assert_eq!(ids(&above.data), [tweets[0].id, tweets[1].id]);
    let new = format!("/v1/home_timeline/new?since={}", tweets[2].id);
    assert_eq!(bob.get(&new).await.expect(200).json()["count"], 2);
    // It is still there for everybody who asks for it, and for others.
    assert!(eve.newest().await.has(&hidden));
    assert_eq!(bob.tweet(hidden.id).await.id, hidden.id);

    bob.unhide(&hidden).await;
    tweets.insert(1, hidden);
    expect_timeline(&bob.newest().await.data, &ids(&tweets)).expect("with the hidden one");
}

#[tokio::test]
async fn a_tweet_has_up_to_four_media() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    let post = async |media| {
        let body = json!({ "text": "look", "media": media });
        ada.call(Method::POST, "/v1/tweets")
            .json(&body)
            .send()
            .await
    };
    let nest = json!({ "type": "image", "url": "https://example.com/nest.jpg", "alt": "a nest" });
    let film = json!({ "type": "video", "url": "https://example.com/film.mp4" });

    let posted = post(json!([nest, film])).await.expect(201).json();

    assert_eq!(posted["media"], json!([nest, film]));
    let id: u64 = posted["id"]
        .as_str()
        .expect("an id")
        .parse()
        .expect("a number");
    bob.eventually_sees(&[id]).await;
    let home = bob.get("/v1/home_timeline").await.expect(200).json();
    assert_eq!(home["data"][0]["media"], posted["media"]);
    let path = format!("/v1/tweets/{id}");
    assert_eq!(
        bob.get(&path).await.expect(200).json()["media"],
        posted["media"]
    );
    let listed = bob
        .get(&format!("/v1/users/{}/tweets", ada.id))
        .await
        .expect(200)
        .json();
    assert_eq!(listed["data"][0]["media"], posted["media"]);

    assert!(
        post(json!([]))
            .await
            .expect(201)
            .json()
            .get("media")
            .is_none()
    );
    for media in [
        json!([film, film, film, film, film]),
        json!([{ "type": "gif", "url": "https://example.com/a.gif" }]),
        json!([{ "type": "image", "url": "http://example.com/a.jpg" }]),
        json!([{ "type": "image" }]),
        json!("https://example.com/a.jpg"),
    ] {
        post(media).await.expect_problem(422);
    }
}

#[tokio::test]
async fn a_key_that_is_used_with_other_media_is_refused() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let post = async |url: &str| {
        let media = json!([{ "type": "image", "url": url }]);
        ada.call(Method::POST, "/v1/tweets")
            .header("idempotency-key", "same")
            .json(&json!({ "text": "look", "media": media }))
            .send()
            .await
    };
    let first = post("https://example.com/a.jpg").await.expect(201).json();
    assert_eq!(
        post("https://example.com/a.jpg").await.expect(201).json(),
        first
    );
    post("https://example.com/b.jpg").await.expect_problem(422);
}

#[tokio::test]
async fn reactions_go_with_the_account_that_made_them() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let tweet = ada.post("react to me").await;
    bob.like(&tweet).await;
    bob.repost(&tweet).await;
    let counts = async || {
        let tweet = ada.tweet(tweet.id).await;
        (tweet.like_count, tweet.repost_count)
    };
    eventually(PATIENCE, "reactions are counted", || async {
        expect_equal("counts", counts().await, (1, 1))
    })
    .await;

    bob.call(Method::DELETE, "/v1/users/me")
        .send()
        .await
        .expect(204);

    eventually(PATIENCE, "they are not counted any more", || async {
        expect_equal("counts", counts().await, (0, 0))
    })
    .await;
}

#[tokio::test]
async fn news_leave_out_what_was_hidden_also_before_the_first_page_is_read() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    let [seen, hidden, new] = [
        ada.post("seen").await,
        ada.post("hidden").await,
        ada.post("new").await,
    ];
    bob.hide(&hidden).await;

    // Nothing of bob is cached, so this asks the tables.
    let path = format!("/v1/home_timeline/new?since={}", seen.id);
    let news = bob.get(&path).await.expect(200).json();

    assert_eq!(news["count"], 1, "{news}");
    assert_eq!(news["newest_id"], new.id.to_string());
}
