//! The ranked order: the best first, a walk that shows everything once, and what the reader may have missed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::Method;
use roost_tests::{
    Client, ComposedPage, DynamoGate, Function, LocalCloud, PATIENCE, RedisProxy, Tweet, User,
    body_of, events, eventually, expect_equal, expect_timeline, given_reader, in_parallel, keys,
    shown, stretched,
};
use serde_json::{Value, json};

/// 2026-01-01 in milliseconds since 1970, and the bits of an id below its time.
const EPOCH_MS: u64 = 1_767_225_600_000;
const TIME_SHIFT: u32 = 22;
const HOUR_MS: u64 = 3_600_000;

async fn ranked(user: &User, limit: usize, cursor: Option<&str>) -> ComposedPage {
    let cursor = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
    let path = format!("/v1/home_timeline?order=ranked&explain=true&limit={limit}{cursor}");
    let answer = user.get(&path).await.expect(200);
    assert!(!answer.headers.contains_key("etag"));
    let page: ComposedPage = answer.read();
    assert!(page.data.len() <= limit);
    assert_eq!(page.meta.result_count, page.data.len());
    let different: BTreeSet<u64> = page.data.iter().map(|item| item.tweet.id).collect();
    assert_eq!(different.len(), page.data.len(), "a tweet is there twice");
    page
}

/// The whole ranked timeline. `between` is called after every page.
async fn walk<F: Future<Output = ()>>(
    user: &User,
    limit: usize,
    mut between: impl FnMut(usize) -> F,
) -> Vec<Tweet> {
    let (mut tweets, mut cursor) = (Vec::new(), None);
    for pages in 1.. {
        assert!(pages < 200, "no end");
        let page = ranked(user, limit, cursor.as_deref()).await;
        assert!(page.meta.complete);
        tweets.extend(page.tweets());
        cursor = page.meta.next_cursor;
        if cursor.is_none() {
            break;
        }
        between(pages).await;
    }
    tweets
}

fn places(tweets: &[Tweet]) -> BTreeSet<(u64, Option<u64>)> {
    let all = shown(tweets);
    let places: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!(places.len(), all.len(), "a place is shown twice");
    places
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.expect("a clock").as_millis()).expect("a time")
}

fn id_at(millis: u64) -> u64 {
    (millis - EPOCH_MS) << TIME_SHIFT
}

async fn mark(user: &User, last_read: u64) {
    let marker = user.get("/v1/home_timeline/marker").await.expect(200);
    let version = marker.json()["version"].as_u64().expect("a version");
    let body = json!({ "last_read_id": last_read.to_string(), "version": version });
    let call = user.call(Method::PUT, "/v1/home_timeline/marker");
    call.json(&body).send().await.expect(200);
}

#[tokio::test]
async fn a_ranked_walk_shows_what_the_latest_walk_shows_while_likes_and_tweets_arrive() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;
    let authors = roost.sign_up_many("author", 4).await;
    in_parallel(4, authors.iter().map(|author| reader.follow(author))).await;
    let posted = in_parallel(4, authors.iter().map(|author| author.post_many(14, 1))).await;
    let outsider = roost.sign_up("outsider").await;
    let passed_on = outsider.post("pass it on").await;
    authors[0].repost(&passed_on).await;
    reader.post("my own").await;
    let expected = eventually(PATIENCE, "everything has arrived", || async {
        let latest = reader.try_walk(100).await?;
        expect_equal("tweets", latest.len(), 4 * 14 + 2).map(|()| places(&latest))
    })
    .await;

    for limit in [5, 40] {
        let found = walk(&reader, limit, |page| {
            let (author, liked) = (&authors[page % 4], &posted[page % 4][page % 14]);
            let outsider = &outsider;
            async move {
                outsider.like(liked).await;
                author.post("meanwhile").await;
            }
        })
        .await;
        let mut found = places(&found);
        // What the walk before has let somebody post is there as well.
        found.retain(|place| expected.contains(place));
        assert_eq!(found, expected, "in pages of {limit}");
    }
}

#[tokio::test]
async fn what_redis_loses_in_the_middle_of_a_ranked_walk_is_neither_lost_nor_repeated() {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let roost = cloud.client();
    let reader = roost.sign_up("reader").await;
    let authors = roost.sign_up_many("author", 3).await;
    in_parallel(3, authors.iter().map(|author| reader.follow(author))).await;
    in_parallel(3, authors.iter().map(|author| author.post_many(20, 1))).await;
    let expected: BTreeSet<u64> = tables
        .home_timeline_of(reader.id)
        .await
        .into_iter()
        .collect();
    let found = walk(&reader, 7, |_| cache.flush()).await;
    let found: Vec<u64> = found.iter().map(|tweet| tweet.id).collect();
    assert_eq!(found.len(), expected.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
}

/// The formula once more, from the numbers on the page.
fn total(score: &Value) -> f64 {
    let part = |name: &str| score[name].as_f64().expect("a part");
    0.3 * part("recency")
        + 0.3 * part("engagement")
        + 0.3 * part("affinity")
        + 0.1 * part("content")
}

#[tokio::test]
async fn the_best_comes_first_and_says_why() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;
    let [plain, friend, hated] = roost.sign_up_each(["plain", "friend", "hated"]).await;
    let fans = roost.sign_up_many("fan", 3).await;
    for author in [&plain, &friend, &hated] {
        reader.follow(author).await;
    }
    let image = json!({ "text": "a picture", "media": [{ "type": "image", "url": "https://example.org/a.png" }] });
    let picture = plain.call(Method::POST, "/v1/tweets").json(&image);
    let picture: Tweet = picture.send().await.expect(201).read();
    let popular = plain.post("popular").await;
    let by_friend = friend.post("by a friend").await;
    let by_hated = hated.post("not interesting").await;
    let hidden = hated.post("hidden").await;
    for fan in &fans {
        fan.like(&popular).await;
    }
    fans[0].reply(&popular, "oh").await;
    reader.reply(&by_friend, "hello").await;
    reader.hide(&hidden).await;
    let page = eventually(PATIENCE, "everything is counted", || async {
        let page = ranked(&reader, 20, None).await;
        let popular = page.data.iter().find(|item| item.tweet.id == popular.id);
        let counts = popular.map(|item| (item.tweet.like_count, item.tweet.reply_count));
        expect_equal("reactions", counts, Some((3, 1)))?;
        let score = page.data.first().and_then(|item| item.explain.as_ref());
        let late = score.and_then(|explain| explain["score"].get("affinity_late"));
        expect_equal("late", late, None)?;
        expect_equal("tweets", page.data.len(), 4).map(|()| page)
    })
    .await;

    let scores: BTreeMap<u64, Value> = page
        .data
        .iter()
        .map(|item| {
            let explain = item.explain.as_ref().expect("an explanation");
            assert!(explain["via"].is_string());
            (item.tweet.id, explain["score"].clone())
        })
        .collect();
    for score in scores.values() {
        let found = score["total"].as_f64().expect("a total");
        assert!((found - total(score)).abs() < 1e-9, "{score}");
        assert!(score.get("affinity_late").is_none());
        assert!(score["recency"].as_f64() > Some(0.98), "{score}");
    }
    let part = |tweet: &Tweet, name: &str| scores[&tweet.id][name].as_f64().expect("a part");
    // ln(1 + 3 + 2·1) / 10
    assert!((part(&popular, "engagement") - 6_f64.ln() / 10.0).abs() < 1e-9);
    assert!((part(&picture, "content") - 0.7).abs() < 1e-9);
    // Nobody is closer than the friend, and what the reader hides counts against its author.
    assert!((part(&by_friend, "affinity") - 1.0).abs() < 1e-9);
    assert!((part(&popular, "affinity") - 0.1).abs() < 1e-9);
    assert!(part(&by_hated, "affinity").abs() < 1e-9);
    let order: Vec<u64> = page.data.iter().map(|item| item.tweet.id).collect();
    assert_eq!(order[0], by_friend.id);
    // No author twice in a row while somebody else is left.
    assert_eq!(order[1..], [popular.id, by_hated.id, picture.id]);
}

#[tokio::test]
async fn a_ranked_page_hides_what_any_page_hides() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;
    let names = ["muted", "unfollowed", "hiding", "deleting"];
    let [muted, unfollowed, hiding, deleting] = &roost.sign_up_each(names).await;
    for author in [muted, unfollowed, hiding, deleting] {
        reader.follow(author).await;
    }
    let by_muted = muted.post("muted").await;
    let by_unfollowed = unfollowed.post("unfollowed").await;
    let hidden = hiding.post("hidden").await;
    let deleted = deleting.post("deleted").await;
    let kept = hiding.post("kept").await;
    let all = [&by_muted, &by_unfollowed, &hidden, &deleted, &kept].map(|tweet| tweet.id);
    eventually(PATIENCE, "all are there", || async {
        let page = ranked(&reader, 20, None).await.tweets();
        let found: BTreeSet<u64> = page.iter().map(|tweet| tweet.id).collect();
        expect_equal("tweets", found, all.into())
    })
    .await;
    reader.mute(muted).await;
    reader.unfollow(unfollowed).await;
    reader.hide(&hidden).await;
    deleting.delete(&deleted).await;
    let page = ranked(&reader, 20, None).await.tweets();
    expect_timeline(&page, &[kept.id]).expect("only what may be shown");
    reader.unmute(muted).await;
    let page = ranked(&reader, 20, None).await.tweets();
    let found: BTreeSet<u64> = page.iter().map(|tweet| tweet.id).collect();
    assert_eq!(found, [kept.id, by_muted.id].into());
}

#[tokio::test]
async fn a_cursor_belongs_to_its_order_and_its_reader() {
    let roost = Client::shared().await;
    let [reader, other] = roost.sign_up_each(["reader", "other"]).await;
    reader.post_many(3, 1).await;
    let cursor = eventually(PATIENCE, "there are two pages", || async {
        let page = ranked(&reader, 1, None).await;
        page.meta.next_cursor.ok_or_else(|| "one page".to_owned())
    })
    .await;
    let latest = reader.home(1, None).await.meta.next_cursor;
    let latest = latest.expect("a second page");
    let path = |query: &str| format!("/v1/home_timeline?{query}");
    for query in [
        format!("order=ranked&cursor={latest}"),
        format!("cursor={cursor}"),
        format!("order=latest&cursor={cursor}"),
        format!("order=ranked&cursor={}", &cursor[1..]),
        format!("order=ranked&cursor={cursor}A"),
        "order=ranked&cursor=".to_owned(),
        "order=ranked&cursor=%FF".to_owned(),
        format!("order=ranked&cursor={}", "A".repeat(5_000)),
        format!("order=ranked&since_id={latest}"),
        "order=best".to_owned(),
        "order=".to_owned(),
    ] {
        reader.get(&path(&query)).await.expect_problem(400);
    }
    let foreign = format!("order=ranked&cursor={cursor}");
    other.get(&path(&foreign)).await.expect_problem(400);
    let answer = reader.get(&path("order=ranked&limit=1")).await.expect(200);
    let link = answer.headers["link"].to_str().expect("a link");
    let next = link.trim_start_matches('<').split('>').next();
    let next: ComposedPage = reader.get(next.expect("a path")).await.expect(200).read();
    assert_eq!(next.data.len(), 1);
}

#[tokio::test]
async fn one_who_was_away_sees_first_what_was_missed_and_only_once() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;
    let authors = roost.sign_up_many("author", 3).await;
    in_parallel(3, authors.iter().map(|author| reader.follow(author))).await;
    let mut posted = Vec::new();
    for author in &authors {
        posted.extend(author.post_many(5, 1).await);
    }
    reader.post("my own").await;
    let best = [&posted[2], &posted[7], &posted[12]];
    for (likes, tweet) in best.iter().enumerate() {
        for author in &authors[..=likes] {
            author.like(tweet).await;
        }
    }
    // Who likes a tweet has seen it. The reader likes as much of everybody.
    for liked in [&posted[0], &posted[5], &posted[10]] {
        in_parallel(4, authors.iter().chain([&reader]).map(|it| it.like(liked))).await;
    }
    let expected = [best[2].id, best[1].id, best[0].id];
    eventually(PATIENCE, "likes are counted", || async {
        let walked = reader.try_walk(100).await?;
        let likes = |id: u64| walked.iter().find(|it| it.id == id).map(|it| it.like_count);
        expect_equal("likes", expected.map(likes), [Some(3), Some(2), Some(1)])?;
        expect_equal("tweets", walked.len(), 16)
    })
    .await;
    assert_eq!(ranked(&reader, 4, None).await.missed(), [0_u64; 0]);
    mark(&reader, id_at(now_ms() - 23 * HOUR_MS)).await;
    assert_eq!(ranked(&reader, 4, None).await.missed(), [0_u64; 0]);
    mark(&reader, id_at(now_ms() - 25 * HOUR_MS)).await;
    let page = ranked(&reader, 4, None).await;
    assert_eq!(page.missed(), expected);
    assert_eq!(
        page.data[..3]
            .iter()
            .map(|it| it.tweet.id)
            .collect::<Vec<_>>(),
        expected
    );
    assert!(page.meta.next_cursor.is_some());
    for limit in [1, 4, 20] {
        let found = walk(&reader, limit, |_| async {}).await;
        assert_eq!(places(&found).len(), 16, "in pages of {limit}");
    }
}

#[tokio::test]
async fn a_page_does_not_wait_for_affinities_that_do_not_come() {
    let Some((cloud, _, _)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let (reader, _, _) = given_reader(cloud.client(), 1).await;
    let dynamodb = &cloud.environment()["AWS_ENDPOINT_URL_DYNAMODB"];
    let gate = DynamoGate::start(dynamodb, |text| {
        text.starts_with("Query") && text.contains("roost-reactions")
    });
    let changed = [("AWS_ENDPOINT_URL_DYNAMODB", gate.url.as_str())];
    let home_timeline = Function::start(&cloud, "home-timeline", &changed);
    let path = "/v1/home_timeline?order=ranked&explain=true";
    let event = events::http("GET", path, &reader.subject(), None);
    let started = Instant::now();
    let page = body_of(&home_timeline.invoke(event), 200);
    assert!(started.elapsed() < stretched(Duration::from_secs(3)));
    let score = &page["data"][0]["explain"]["score"];
    assert_eq!(score["affinity_late"], true, "{page}");
    assert_eq!(score["affinity"], 0.1);
    assert_eq!(page["meta"]["complete"], true);
}

const FOLLOWED: usize = 200;
const CELEBRITIES: usize = 20;
const READS: usize = 60;

/// Also says what a ranked page costs beside one in the latest order, in the same run.
#[tokio::test]
async fn a_ranked_page_costs_at_most_one_round_trip_more() {
    let parameters = [
        ("CELEBRITY_THRESHOLD", "1000000"),
        ("READS_PER_MINUTE", "0"),
    ];
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&parameters).await else {
        return;
    };
    let roost = cloud.client();
    let reader = roost.sign_up("reader").await;
    let authors = roost.sign_up_many("author", FOLLOWED).await;
    for star in &authors[..CELEBRITIES] {
        tables.make_celebrity(star.id).await;
    }
    in_parallel(8, authors.iter().map(|author| reader.follow(author))).await;
    in_parallel(8, authors.iter().map(|author| author.post("hello"))).await;
    let liked = authors[30].post("like me").await;
    reader.like(&liked).await;
    eventually(PATIENCE, "everything has arrived", || async {
        expect_equal("tweets", reader.try_walk(100).await?.len(), FOLLOWED + 1)
    })
    .await;

    let proxy = RedisProxy::start(&cloud);
    let watched = Function::start(&cloud, "home-timeline", &[("REDIS_URL", &proxy.url)]);
    let timed = Function::start(&cloud, "home-timeline", &[]);
    let event = |order: &str| {
        let path = format!("/v1/home_timeline?limit=20&order={order}");
        events::http("GET", &path, &reader.subject(), None)
    };
    let round_trips = |order: &str| {
        watched.invoke(event(order));
        proxy.take_round_trips();
        body_of(&watched.invoke(event(order)), 200);
        proxy.take_round_trips().len()
    };
    let (latest, best) = (round_trips("latest"), round_trips("ranked"));
    for order in ["latest", "ranked"] {
        let read = || drop(watched.invoke(event(order)));
        let bytes = cache.bytes_sent_by(read).await;
        println!("a warm page of 20 tweets, {order}: {bytes} bytes from Redis");
    }
    println!("round trips of a warm page: {latest} latest, {best} ranked");
    assert!(
        best <= latest + 1,
        "{best} round trips, {latest} for latest"
    );
    mark(&reader, id_at(now_ms() - 25 * HOUR_MS)).await;
    let away = round_trips("ranked");
    println!("{away} for one who was away");
    assert!(
        away <= latest + 1,
        "{away} round trips, {latest} for latest"
    );
    mark(&reader, id_at(now_ms())).await;

    let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for _ in 0..READS {
        for order in ["latest", "ranked"] {
            let started = Instant::now();
            timed.invoke(event(order));
            times.entry(order).or_default().push(started.elapsed());
        }
    }
    let median = |order: &str| {
        let mut times = times[order].clone();
        times.sort_unstable();
        times[READS / 2]
    };
    let (latest, best) = (median("latest"), median("ranked"));
    let ratio = best.as_secs_f64() / latest.as_secs_f64();
    println!("median of {READS}: {latest:?} latest, {best:?} ranked, {ratio:.2} times");
    let kept: usize = cache.ask(&["STRLEN", &keys::affinity(reader.id)]).await;
    assert_eq!(kept, 16, "one author");
}
