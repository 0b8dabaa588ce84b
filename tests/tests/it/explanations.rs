//! How a tweet came to a page: the receipt of its delivery, and pages that explain each tweet.

use std::time::Duration;

use roost_tests::{
    LocalCloud, PATIENCE, User, eventually, expect_equal, expect_tier, given_reader, in_parallel,
    keys, stretched,
};

#[tokio::test]
async fn a_tweet_leaves_a_receipt_of_its_delivery() {
    let small_pages = [("FAN_OUT_PAGE_SIZE", "2")];
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&small_pages).await else {
        return;
    };
    let roost = cloud.client();
    let author = roost.sign_up("author").await;
    let followers = roost.sign_up_many("fan", 9).await;
    in_parallel(4, followers.iter().map(|follower| follower.follow(&author))).await;
    in_parallel(4, followers[..4].iter().map(User::newest)).await;
    let tweet = author.post("a receipt, please").await;
    let key = format!("receipt:{{{}}}", tweet.id);
    eventually(PATIENCE, "everybody is on the receipt", || async {
        let [followers, deliveries, hops]: [u64; 3] = cache
            .ask::<Vec<Option<u64>>>(&["HMGET", &key, "followers", "deliveries", "hops"])
            .await
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect::<Vec<_>>()
            .try_into()
            .map_err(|_| "three fields")?;
        if (followers, deliveries) == (9, 4) && hops > 0 {
            Ok(())
        } else {
            Err(format!(
                "{followers} followers, {deliveries} deliveries, {hops} hops"
            ))
        }
    })
    .await;
}

/// For each of the reader's newest tweets: its id, the way it came to the page, and after how many milliseconds.
async fn explained(reader: &User) -> Vec<(u64, String, Option<u64>)> {
    let page = reader
        .get("/v1/home_timeline?explain=true")
        .await
        .expect(200);
    assert!(!page.headers.contains_key("etag"));
    let page = page.json();
    let tweets = page["data"].as_array().expect("tweets").iter();
    let explained = tweets.map(|tweet| {
        let id = tweet["id"].as_str().expect("an id");
        let via = tweet["explain"]["via"].as_str().expect("an explanation");
        (
            id.parse().expect("a number"),
            via.to_owned(),
            tweet["explain"]["visible_after_ms"].as_u64(),
        )
    });
    explained.collect()
}

#[tokio::test]
async fn a_page_explains_how_each_tweet_came_to_it() {
    let two_make_a_celebrity = [("CELEBRITY_THRESHOLD", "2"), ("TIER_DWELL_SECONDS", "0")];
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&two_make_a_celebrity).await else {
        return;
    };
    let roost = cloud.client();
    let (reader, _, pushed) = given_reader(roost, 3).await;
    let newcomer = roost.sign_up("newcomer").await;
    let backfilled = newcomer.post("from before the follow").await.id;
    // Not while it is being delivered, or it would be pushed as well.
    tokio::time::sleep(stretched(Duration::from_secs(2))).await;
    reader.follow(&newcomer).await;
    let [celebrity, other] = roost.sign_up_each(["celeb", "other"]).await;
    in_parallel(2, [&reader, &other].map(|fan| fan.follow(&celebrity))).await;
    // Until the flip has settled, a tweet is pushed as well.
    expect_tier(&tables, &celebrity, "celebrity", 1, PATIENCE).await;
    let pulled = celebrity.post("one write").await.id;

    let via = |id: u64, ways: &[(u64, String, Option<u64>)]| {
        let found = ways.iter().find(|(other, ..)| *other == id);
        found.map(|(_, via, visible)| (via.clone(), visible.is_some()))
    };
    let is = |way: &str, timed| Some((way.to_owned(), timed));
    eventually(PATIENCE, "every way is explained", || async {
        let ways = explained(&reader).await;
        expect_equal("posted", via(pushed[0], &ways), is("pushed", true))?;
        expect_equal("followed", via(backfilled, &ways), is("backfilled", false))?;
        expect_equal("celebrity", via(pulled, &ways), is("pulled", true))
    })
    .await;

    // The list is cut as if it had grown too long: what is below comes from the tables.
    let list = keys::home_timeline(reader.id);
    let _: String = cache.ask(&["LTRIM", &list, "0", "0"]).await;
    let ways = explained(&reader).await;
    assert_eq!(via(pushed[2], &ways), is("deep", false));
    let _: i64 = cache.ask(&["DEL", &list]).await;
    let ways = explained(&reader).await;
    assert_eq!(via(pushed[2], &ways), is("rebuilt", false));
    let ways = explained(&reader).await;
    assert_eq!(via(pushed[2], &ways), is("rebuilt", false), "from the list");

    let plain = reader.get("/v1/home_timeline").await.expect(200).json();
    assert_eq!(plain["data"][0].get("explain"), None);
    reader
        .get("/v1/home_timeline?explain=yes")
        .await
        .expect_problem(400);
}
