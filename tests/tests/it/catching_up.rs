//! What a reader needs to catch up: whether a page changed, how many tweets are new, the page above what was seen, and
//! how far they have read.

use hyper::Method;
use roost_tests::{
    Client, LocalCloud, PATIENCE, User, eventually, given_reader, in_parallel, page_ids,
};
use serde_json::{Value, json};

async fn news(reader: &User, since: u64) -> Value {
    let path = format!("/v1/home_timeline/new?since={since}");
    reader.get(&path).await.expect(200).json()
}

#[tokio::test]
async fn a_page_that_has_not_changed_is_answered_with_304() {
    let roost = Client::shared().await;
    let (reader, author, posted) = given_reader(&roost, 12).await;
    let page = reader.get("/v1/home_timeline?limit=5").await.expect(200);
    let tag = page.headers["etag"].to_str().expect("ASCII").to_owned();
    assert_eq!(
        page.headers["link"],
        format!(
            "</v1/home_timeline?limit=5&cursor={}>; rel=\"next\"",
            posted[4]
        )
    );
    let again = |tag: String| {
        reader
            .call(Method::GET, "/v1/home_timeline?limit=5")
            .header("if-none-match", &tag)
            .send()
    };

    let unchanged = again(tag.clone()).await.expect(304);
    assert!(unchanged.text().is_empty());

    let doomed = author.tweets(1).await.remove(0);
    author.delete(&doomed).await;
    let changed = again(tag.clone()).await.expect(200);
    assert_ne!(changed.headers["etag"].to_str().expect("ASCII"), tag);
    let tag = changed.headers["etag"].to_str().expect("ASCII").to_owned();
    again(tag.clone()).await.expect(304);

    author.post("one more").await;
    eventually(PATIENCE, "a new tweet changes the page", || async {
        match again(tag.clone()).await.status {
            200 => Ok(()),
            other => Err(format!("still {other}")),
        }
    })
    .await;
}

#[tokio::test]
async fn a_page_that_now_leads_to_another_one_has_changed() {
    let roost = Client::shared().await;
    let older = roost.sign_up("older").await;
    older.post("long before").await;
    let (reader, _, _) = given_reader(&roost, 5).await;
    let page = reader.get("/v1/home_timeline?limit=5").await.expect(200);
    assert!(page.headers.get("link").is_none(), "nothing lies below");
    let tag = page.headers["etag"].to_str().expect("ASCII").to_owned();

    reader.follow(&older).await;
    eventually(PATIENCE, "the page leads to an older tweet", || async {
        let again = reader
            .call(Method::GET, "/v1/home_timeline?limit=5")
            .header("if-none-match", &tag)
            .send()
            .await;
        match again.headers.get("link") {
            Some(_) => Ok(()),
            None => Err(format!("still {}", again.status)),
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_new_is_counted_without_what_was_deleted() {
    let roost = Client::shared().await;
    let (reader, author, posted) = given_reader(&roost, 10).await;
    let seen = posted[3];
    assert_eq!(
        news(&reader, seen).await,
        json!({ "count": 3, "capped": false, "newest_id": posted[0].to_string(), "complete": true })
    );
    let newest = author.tweets(1).await.remove(0);
    author.delete(&newest).await;
    let after = news(&reader, seen).await;
    assert_eq!(after["count"], 2);
    assert_eq!(after["newest_id"], posted[1].to_string());
    assert_eq!(news(&reader, posted[0]).await["count"], 0);
    reader
        .get("/v1/home_timeline/new?since=x")
        .await
        .expect_problem(400);
    reader
        .get("/v1/home_timeline/new")
        .await
        .expect_problem(400);
}

#[tokio::test]
async fn the_page_above_what_was_seen_is_adjacent_to_it() {
    let two_make_a_celebrity = [("CELEBRITY_THRESHOLD", "2"), ("TIER_DWELL_SECONDS", "0")];
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&two_make_a_celebrity).await else {
        return;
    };
    let roost = cloud.client();
    let (reader, author, mut posted) = given_reader(roost, 30).await;
    // A celebrity among them, whose tweets are pulled.
    let [celebrity, other] = roost.sign_up_each(["celeb", "other"]).await;
    in_parallel(2, [&reader, &other].map(|fan| fan.follow(&celebrity))).await;
    for n in 0..10 {
        posted.push(author.post(&format!("pushed {n}")).await.id);
        posted.push(celebrity.post(&format!("pulled {n}")).await.id);
    }
    posted.sort_unstable();
    let mut expected = posted.clone();
    expected.reverse();
    reader.eventually_sees(&expected).await;

    for flush in [false, true] {
        let (mut since, mut met) = (posted[4], Vec::new());
        loop {
            if flush {
                cache.flush().await;
            }
            let path = format!("/v1/home_timeline?limit=7&since_id={since}");
            let page = reader.get(&path).await.expect(200).json();
            let mut shown = page_ids(&page);
            assert!(shown.is_sorted_by(|a, b| a > b), "a page is newest first");
            shown.reverse();
            met.extend(shown);
            match page["meta"]["next_since_id"].as_str() {
                Some(next) => since = next.parse().expect("an id"),
                None => break,
            }
        }
        assert_eq!(met, posted[5..], "upwards, each once (flushed: {flush})");
    }
    let both = format!(
        "/v1/home_timeline?since_id={}&cursor={}",
        posted[0], posted[1]
    );
    reader.get(&both).await.expect_problem(400);
}

#[tokio::test]
async fn a_read_marker_is_the_same_on_all_devices_and_shows_where_the_reader_caught_up() {
    let roost = Client::shared().await;
    let (reader, _, posted) = given_reader(&roost, 20).await;
    let marker = "/v1/home_timeline/marker";
    assert_eq!(
        reader.get(marker).await.expect(200).json(),
        json!({ "version": 0 })
    );
    let put = |id: u64, version: u64| {
        let body = json!({ "last_read_id": id.to_string(), "version": version });
        reader.call(Method::PUT, marker).json(&body).send()
    };
    let read = posted[12];
    let moved = put(read, 0).await.expect(200).json();
    assert_eq!(
        moved,
        json!({ "last_read_id": read.to_string(), "version": 1 })
    );
    for stale in [0, 7] {
        let refused = put(posted[3], stale).await.expect_kind(409, "stale-marker");
        assert_eq!(refused["marker"], moved);
    }
    assert_eq!(reader.get(marker).await.expect(200).json(), moved);
    reader
        .call(Method::PUT, marker)
        .json(&json!({ "last_read_id": "x", "version": 1 }))
        .send()
        .await
        .expect_problem(422);

    let (mut caught_up, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/home_timeline?limit=5{cursor}");
        let page = reader.get(&path).await.expect(200).json();
        caught_up.push(page["meta"]["caught_up"].as_bool().unwrap_or_default());
        let Some(next) = page["meta"]["next_cursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(
        caught_up,
        [false, false, true, false],
        "index 12 is on the third page"
    );
}
