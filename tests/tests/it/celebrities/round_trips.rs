//! The cost of one read if the reader follows many celebrities.

use std::time::Duration;

use roost_tests::{
    Function, PATIENCE, RedisProxy, body_of, events, eventually, expect_equal, in_parallel,
    page_ids,
};

use super::cloud;

const CELEBRITIES: usize = 200;
const PASSED_ON: usize = 4;
const ROUND_TRIPS: usize = 3;
/// Longer than a sandbox keeps feeds in memory.
const FORGOTTEN: Duration = Duration::from_millis(1_200);

fn feeds_read(round_trips: &[String]) -> Vec<usize> {
    let count = |asked: &String| asked.matches("ZREVRANGEBYSCORE").count();
    round_trips.iter().map(count).collect()
}

#[tokio::test]
async fn two_hundred_celebrities_cost_three_round_trips() {
    let Some((cloud, tables, cache)) = cloud("1", "100").await else {
        return;
    };
    let roost = cloud.client();
    let reader = roost.sign_up("reader").await;
    let celebrities = roost.sign_up_many("star", CELEBRITIES).await;
    in_parallel(8, celebrities.iter().map(|star| reader.follow(star))).await;
    in_parallel(8, celebrities.iter().map(|star| star.post_many(2, 1))).await;
    // Twelve of them pass on four tweets of somebody whom the reader does not follow, and the reader likes one.
    let outsider = roost.sign_up("outsider").await;
    let passed_on = outsider.post_many(PASSED_ON, 1).await;
    let reposters = celebrities[..3 * PASSED_ON].iter().enumerate();
    let reposting = reposters.map(|(n, star)| star.repost(&passed_on[n % PASSED_ON]));
    in_parallel(8, reposting).await;
    reader.like(&passed_on[0]).await;
    eventually(PATIENCE, "all of them are celebrities", || async {
        let tiers = in_parallel(8, celebrities.iter().map(|star| tables.tier_of(star.id))).await;
        let settled = tiers
            .iter()
            .flatten()
            .filter(|tier| tier.name == "celebrity")
            .count();
        expect_equal("celebrities", settled, CELEBRITIES)
    })
    .await;
    assert_eq!(reader.walk(100).await.len(), 2 * CELEBRITIES + PASSED_ON);
    let newest = tables.home_timeline_of(reader.id).await;
    let newest: Vec<u64> = newest.into_iter().take(20).collect();
    assert!(passed_on.iter().all(|tweet| newest.contains(&tweet.id)));

    let proxy = RedisProxy::start(&cloud);
    let home_timeline = Function::start(&cloud, "home-timeline", &[("REDIS_URL", &proxy.url)]);
    let event = events::http("GET", "/v1/home_timeline?limit=20", &reader.subject(), None);
    let read = |what: &str| {
        let shown = page_ids(&body_of(&home_timeline.invoke(event.clone()), 200));
        assert_eq!(shown, newest, "{what}");
        let round_trips = proxy.take_round_trips();
        println!(
            "{what}: {} round trips, feeds read in each: {:?}",
            round_trips.len(),
            feeds_read(&round_trips)
        );
        round_trips
    };

    // The first read connects, looks the reader up, and fills what is missing.
    let cold = read("cold");
    assert!(!cold.is_empty(), "the proxy sees nothing");
    let warm = read("warm");
    assert!(warm.len() <= ROUND_TRIPS, "a warm read: {warm:#?}");
    let bytes = cache.bytes_sent_by(|| drop(read("warm again"))).await;
    println!(
        "a warm page of {} tweets: {bytes} bytes from Redis",
        newest.len()
    );
    std::thread::sleep(FORGOTTEN);
    let later = read("later");
    assert!(later.len() <= ROUND_TRIPS, "a later read: {later:#?}");
    assert!(
        feeds_read(&later).contains(&CELEBRITIES),
        "all feeds are asked for at once: {:?}",
        feeds_read(&later)
    );
}
