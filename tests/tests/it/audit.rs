//! The audit finds what a cache got wrong, repairs it, and leaves the rest alone.

use roost_tests::{
    LocalCloud, PATIENCE, entry, events, eventually, expect_equal, expect_timeline, keys,
    newest_first,
};
use shared::platform::now_millis;

/// Ids of a day ago: old enough to be missed.
fn old_tweets(author: u64, count: u64) -> Vec<(u64, u64)> {
    let day_ago = shared::domain::TweetId::first_at(now_millis() - 24 * 3_600_000).get();
    let lane = author & 0xffff;
    (0..count)
        .map(|n| (author, day_ago + (n << 30) + lane))
        .collect()
}

#[tokio::test]
async fn the_audit_repairs_a_page_that_differs_from_the_tables_and_reports_it() {
    let sample = [("AUDIT_SAMPLE", "50")];
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&sample).await else {
        return;
    };
    let roost = cloud.client();
    let audit = || async {
        let invoked = roost.invoke("audit-timelines", &events::scheduled()).await;
        invoked.expect("a local cloud invokes functions");
    };
    let [reader, other] = roost.sign_up_each(["reader", "other"]).await;
    let [author, stranger] = roost.sign_up_each(["author", "strange"]).await;
    tables.add_tweets(&old_tweets(author.id, 40)).await;
    let strange = old_tweets(stranger.id, 1);
    tables.add_tweets(&strange).await;
    for person in [&reader, &other] {
        person.follow(&author).await;
        person.newest().await;
    }
    let expected = tables.home_timeline_of(reader.id).await;
    eventually(PATIENCE, "the list is whole", || async {
        expect_timeline(&reader.try_walk(50).await?, &expected)?;
        let list = &cache.home_timelines(&[reader.id]).await[0];
        expect_equal("entries", list.len(), expected.len() + 1)
    })
    .await;

    audit().await;
    let intact = cache.home_timelines(&[reader.id, other.id]).await;
    assert_eq!(intact[0].len(), expected.len() + 1, "nothing to repair");

    // One tweet is lost, and a tweet of a stranger is there.
    let list = keys::home_timeline(reader.id);
    let _: String = cache.ask(&["LSET", &list, "7", "lost"]).await;
    let _: i64 = cache.ask(&["LREM", &list, "0", "lost"]).await;
    cache
        .push(reader.id, &entry(strange[0].1, stranger.id))
        .await;
    let page = newest_first(reader.home(100, None).await.data);
    expect_timeline(&page, &expected).expect_err("the page is wrong");

    audit().await;

    expect_timeline(&reader.walk(50).await, &expected).expect("repaired");
    assert_eq!(cache.home_timelines(&[other.id]).await[0], intact[1]);
    let log = cloud.log();
    assert!(log.contains("served page differs from the tables"));
    let reported = log
        .lines()
        .filter(|line| line.contains("\"AuditDifferences\":1"));
    assert_eq!(reported.count(), 1, "one difference, reported once");
}
