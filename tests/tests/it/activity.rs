//! `include=activity`: what followed people did with the tweets of others.

use std::collections::BTreeSet;

use hyper::Method;
use roost_tests::{
    Client, ComposedItem, ComposedPage, DynamoProxy, Function, LocalCloud, PATIENCE, RedisProxy,
    Tweet, User, body_of, events, eventually, expect_equal, ids, in_parallel,
};
use serde_json::{Value, json};

async fn active(user: &User, order: &str, limit: usize, cursor: Option<&str>) -> ComposedPage {
    let cursor = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
    let path = format!(
        "/v1/home_timeline?include=activity&explain=true&order={order}&limit={limit}{cursor}"
    );
    let page: ComposedPage = user.get(&path).await.expect(200).read();
    let different: BTreeSet<u64> = page.data.iter().map(|item| item.tweet.id).collect();
    assert_eq!(different.len(), page.data.len(), "a tweet is there twice");
    let guests = page.data.iter().filter(|item| item.is_guest()).count();
    assert!(guests * 5 <= page.data.len(), "{guests} guests: {page:#?}");
    assert!(page.meta.complete);
    let included: BTreeSet<&str> = page.includes["users"]
        .as_array()
        .expect("users")
        .iter()
        .filter_map(|user| user["id"].as_str())
        .collect();
    for item in &page.data {
        let reason = item.reason.iter().flat_map(|it| it["user_ids"].as_array());
        for person in reason.flatten() {
            assert!(
                included.contains(person.as_str().expect("an id")),
                "{person}"
            );
        }
    }
    page
}

async fn first(user: &User) -> ComposedPage {
    active(user, "latest", 20, None).await
}

async fn walk(user: &User, order: &str, limit: usize) -> (Vec<u64>, Vec<u64>) {
    let (mut own, mut guests, mut cursor) = (Vec::new(), Vec::new(), None);
    for pages in 1.. {
        assert!(pages < 100, "no end");
        let page = active(user, order, limit, cursor.as_deref()).await;
        for item in &page.data {
            let list = if item.is_guest() {
                &mut guests
            } else {
                &mut own
            };
            list.push(item.tweet.id);
        }
        cursor = page.meta.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    (own, guests)
}

fn reason(kind: &str, people: &[&User]) -> Option<Value> {
    let people: Vec<String> = people.iter().map(|user| user.id.to_string()).collect();
    Some(json!({ "type": kind, "user_ids": people, "others": 0 }))
}

/// A reader who follows two people with ten tweets each, and somebody whom the reader does not know.
async fn given_people(roost: &Client) -> (User, [User; 2], User) {
    let [reader, ada, bob, stranger] = roost
        .sign_up_each(["reader", "ada", "bob", "stranger"])
        .await;
    reader.follow(&ada).await;
    reader.follow(&bob).await;
    ada.post_many(10, 1).await;
    bob.post_many(10, 1).await;
    eventually(PATIENCE, "everything has arrived", || async {
        expect_equal("tweets", reader.try_walk(100).await?.len(), 20)
    })
    .await;
    (reader, [ada, bob], stranger)
}

#[tokio::test]
async fn what_followed_people_do_with_the_tweets_of_others_is_shown_with_the_reason() {
    let roost = Client::shared().await;
    let (reader, [ada, bob], stranger) = given_people(&roost).await;
    let liked = stranger.post("liked by both").await;
    let answered = stranger.post("answered").await;
    let unnoticed = stranger.post("unnoticed").await;
    ada.like(&liked).await;
    bob.like(&liked).await;
    let answer = bob.reply(&answered, "indeed").await;
    let page = eventually(PATIENCE, "both are guests", || async {
        let page = first(&reader).await;
        expect_equal("liked", page.reason(&liked), reason("liked", &[&bob, &ada]))?;
        expect_equal(
            "answered",
            page.reason(&answered),
            reason("replied", &[&bob]),
        )?;
        Ok(page)
    })
    .await;
    assert!(!page.has(&unnoticed));
    // They stand where they were reacted to, above what was posted before.
    assert_eq!(page.data[0].tweet.id, answered.id);
    assert_eq!(page.data[1].tweet.id, liked.id);
    assert!(!reader.newest().await.has(&liked), "nobody asked for it");

    let expected = ids(&reader.walk(100).await);
    for limit in [5, 7, 100] {
        let (own, guests) = walk(&reader, "latest", limit).await;
        assert_eq!(own, expected, "in pages of {limit}");
        // One in five: of two that stand above the same few tweets, a short page has room for one.
        let fit = if limit < 10 { 1 } else { 2 };
        assert_eq!(
            guests,
            [answered.id, liked.id][..fit],
            "in pages of {limit}"
        );
        let (mut own, mut guests) = walk(&reader, "ranked", limit).await;
        own.sort_unstable_by(|a, b| b.cmp(a));
        guests.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(own, expected, "ranked, in pages of {limit}");
        assert_eq!(
            guests,
            [answered.id, liked.id],
            "ranked, in pages of {limit}"
        );
    }
    bob.unlike(&liked).await;
    expect_reason(&reader, &liked, &[&ada]).await;
    bob.delete(&answer).await;
    eventually(PATIENCE, "nobody answered", || async {
        expect_equal("guest", first(&reader).await.has(&answered), false)
    })
    .await;
}

#[tokio::test]
async fn nobody_whom_the_reader_must_not_see_is_a_reason_or_a_guest() {
    let roost = Client::shared().await;
    let (reader, [ada, bob], stranger) = given_people(&roost).await;
    let other = roost.sign_up("other").await;
    let (by_stranger, by_other) = (stranger.post("a").await, other.post("b").await);
    for person in [&ada, &bob] {
        person.like(&by_stranger).await;
        person.like(&by_other).await;
    }
    let both = |page: &ComposedPage| [page.has(&by_stranger), page.has(&by_other)];
    eventually(PATIENCE, "both are guests", || async {
        let page = first(&reader).await;
        expect_equal("guests", both(&page), [true, true])?;
        let expected = reason("liked", &[&bob, &ada]);
        expect_equal("reason", page.reason(&by_other), expected)
    })
    .await;
    reader.mute(&bob).await;
    expect_reason(&reader, &by_other, &[&ada]).await;
    reader.mute(&other).await;
    assert!(!first(&reader).await.has(&by_other));
    stranger.block(&reader).await;
    assert_eq!(both(&first(&reader).await), [false, false]);
    stranger.unblock(&reader).await;
    reader.unmute(&other).await;
    reader.unmute(&bob).await;
    expect_reason(&reader, &by_stranger, &[&bob, &ada]).await;
    reader.hide(&by_other).await;
    assert!(!first(&reader).await.has(&by_other));
    reader.unhide(&by_other).await;
    expect_reason(&reader, &by_other, &[&bob, &ada]).await;
    other.delete(&by_other).await;
    assert!(!first(&reader).await.has(&by_other));
    // Whom the reader follows is no stranger: what they post comes by itself.
    reader.follow(&stranger).await;
    eventually(PATIENCE, "it is there directly", || async {
        let page = first(&reader).await;
        let item = page.data.iter().find(|it| it.tweet.id == by_stranger.id);
        expect_equal("guest", item.map(ComposedItem::is_guest), Some(false))
    })
    .await;
    expect_reason(&reader, &by_stranger, &[&bob, &ada]).await;
    let call = bob.call(Method::DELETE, "/v1/users/me");
    call.send().await.expect(204);
    let gone = first(&reader).await.reason(&by_stranger);
    assert!(gone.is_none_or(|reason| reason["user_ids"] == json!([ada.id.to_string()])));
    expect_reason(&reader, &by_stranger, &[&ada]).await;
}

/// Guests come when their deeds are read in time.
async fn expect_reason(reader: &User, tweet: &Tweet, people: &[&User]) {
    eventually(PATIENCE, "it has its reason", || async {
        let found = first(reader).await.reason(tweet);
        expect_equal("reason", found, reason("liked", people))
    })
    .await;
}

#[tokio::test]
async fn what_is_there_directly_stays_where_it_is_and_gains_the_reason() {
    let roost = Client::shared().await;
    let (reader, [ada, bob], stranger) = given_people(&roost).await;
    let (passed_on, by_ada) = (stranger.post("pass me on").await, ada.post("mine").await);
    ada.repost(&passed_on).await;
    bob.like(&by_ada).await;
    let page = eventually(PATIENCE, "both have reasons", || async {
        let page = first(&reader).await;
        expect_equal("liked", page.reason(&by_ada), reason("liked", &[&bob]))?;
        let reposted = reason("reposted", &[&ada]);
        expect_equal("reposted", page.reason(&passed_on), reposted)?;
        Ok(page)
    })
    .await;
    assert!(page.data.iter().all(|item| !item.is_guest()));
    let plain = reader.newest().await;
    let (shown, expected): (Vec<u64>, Vec<u64>) = (
        page.data.iter().map(|item| item.tweet.id).collect(),
        ids(&plain.data),
    );
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn a_cursor_with_activity_is_checked() {
    let roost = Client::shared().await;
    let (reader, [ada, _], stranger) = given_people(&roost).await;
    let liked = stranger.post("liked").await;
    ada.like(&liked).await;
    let cursor = eventually(PATIENCE, "it is a guest", || async {
        let page = active(&reader, "latest", 5, None).await;
        expect_equal("guest", page.has(&liked), true)?;
        Ok(page.meta.next_cursor.expect("a second page"))
    })
    .await;
    for query in [
        format!("cursor={cursor}"),
        format!("include=activity&order=ranked&cursor={cursor}"),
        format!("include=activity&cursor={cursor}A"),
        "include=activity&cursor=x".to_owned(),
        "include=activity&since_id=7".to_owned(),
        "include=".to_owned(),
        "include=everything".to_owned(),
    ] {
        let path = format!("/v1/home_timeline?{query}");
        reader.get(&path).await.expect_problem(400);
    }
    // Any tweet is a beginning, as without activity.
    let last = ids(&reader.walk(100).await)[18].to_string();
    let page = active(&reader, "latest", 20, Some(&last)).await;
    assert_eq!(page.data.len(), 1);
}

const FOLLOWED: usize = 60;

/// Thirty people are asked about, however many the reader follows.
#[tokio::test]
async fn activity_costs_a_bounded_number_of_reads() {
    let parameters = [("READS_PER_MINUTE", "0")];
    let Some((cloud, _, _)) = LocalCloud::with_stores(&parameters).await else {
        return;
    };
    let roost = cloud.client();
    let [reader, stranger] = roost.sign_up_each(["reader", "stranger"]).await;
    let authors = roost.sign_up_many("author", FOLLOWED).await;
    in_parallel(8, authors.iter().map(|author| reader.follow(author))).await;
    in_parallel(8, authors.iter().map(|author| author.post("hello"))).await;
    let tweets = stranger.post_many(4, 1).await;
    let likes = authors.iter().zip(tweets.iter().cycle());
    in_parallel(8, likes.map(|(author, tweet)| author.like(tweet))).await;
    eventually(PATIENCE, "everything has arrived", || async {
        expect_equal("tweets", reader.try_walk(100).await?.len(), FOLLOWED)
    })
    .await;
    let dynamodb = DynamoProxy::start(&cloud.environment()["AWS_ENDPOINT_URL_DYNAMODB"]);
    let redis = RedisProxy::start(&cloud);
    let changed = [
        ("AWS_ENDPOINT_URL_DYNAMODB", dynamodb.url.as_str()),
        ("REDIS_URL", redis.url.as_str()),
    ];
    let home_timeline = Function::start(&cloud, "home-timeline", &changed);
    let event = |query: &str| {
        let path = format!("/v1/home_timeline?limit=20{query}");
        events::http("GET", &path, &reader.subject(), None)
    };
    let read = |query: &str| {
        let page = body_of(&home_timeline.invoke(event(query)), 200);
        let guests = page["data"].as_array().expect("tweets").iter();
        let guests = guests.filter(|it| it["reason"]["type"] == "liked").count();
        (guests, redis.take_round_trips().len(), dynamodb.take())
    };
    read("");
    let (_, plain, tables) = read("");
    assert!(tables.is_empty(), "{tables:?}");
    let (guests, _, cold) = read("&include=activity");
    assert_eq!(guests, 4, "{cold:#?}");
    let queries = cold.iter().filter(|text| text.starts_with("Query")).count();
    println!(
        "cold: {} requests to the tables, {queries} of them queries",
        cold.len()
    );
    assert!(queries <= 30 * 3, "{queries} queries");
    let (guests, round_trips, warm) = read("&include=activity");
    println!(
        "warm: {round_trips} round trips, {plain} without, and {} requests to the tables",
        warm.len()
    );
    assert_eq!(guests, 4);
    assert!(round_trips <= plain + 2, "{round_trips} and {plain}");
    assert!(warm.len() <= 1, "{warm:?}");
}
