//! The upgrade of a deployment whose work was still handed over by Kinesis.

use roost_tests::{LocalCloud, PATIENCE, entry, events, eventually, expect_equal};
use serde_json::json;

#[tokio::test]
async fn what_an_earlier_version_left_on_its_streams_is_done() {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&[("OLD_STREAMS", "read")]).await
    else {
        return;
    };
    let roost = cloud.client();
    let author = roost.sign_up("author").await;
    let tweet = author.post("left behind").await;
    // A list that lacks the tweet, because the earlier version had not come to its page yet.
    let reader = author.id - 1_000;
    tables.stop_stream_of_followers().await;
    tables.load_followers(author.id, &[reader]).await;
    cache.activate(&[reader]).await;

    let page = json!({
        "tweet_id": tweet.id.to_string(), "author_id": author.id.to_string(),
        "followers": { "after": "0", "to": reader.to_string() },
        "tier": "normal", "epoch": 0, "depth": 1,
    });
    events::put_on_stream(roost.target(), "fan-out-pages", author.id, &page).await;
    let fill = json!({ "user_id": reader.to_string() });
    events::put_on_stream(roost.target(), "timeline-fills", reader, &fill).await;

    let missing = entry(tweet.id, author.id).to_vec();
    eventually(PATIENCE, "the page is delivered", || async {
        let newest = cache.newest_entries(&[reader]).await;
        expect_equal("the newest entry", newest[0].as_ref(), Some(&missing))
    })
    .await;
    eventually(PATIENCE, "the fill is taken up", || async {
        let sandboxes = cloud.sandboxes().await;
        let mut functions = sandboxes.iter().map(|sandbox| &sandbox.function);
        let started = functions.any(|function| function == "fill-timelines");
        expect_equal("fill-timelines was started", started, true)
    })
    .await;
}
