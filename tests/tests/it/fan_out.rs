//! Authors with more followers than one invocation may deliver to.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use roost_tests::{
    LocalCloud, PATIENCE, SENTINEL, entry, eventually, expect_equal, expect_timeline,
};

const FOLLOWERS: u64 = 25_000;
/// One in so many followers reads their timeline.
const ACTIVE_EVERY: usize = 83;
/// 25,000 stream records for two consumers, in batches of 100.
const DRAIN_LIMIT: Duration = Duration::from_secs(90);

/// Ids as sign-ups make them: spread over the month before `newest`, and a rush of a fifth of them within seconds.
fn fabricated_followers(newest: u64) -> Vec<u64> {
    let month_ms = 30 * 24 * 3_600_000;
    let start_ms = (newest >> 22) - month_ms - 1;
    let id = |milliseconds: u64, n: u64| ((start_ms + milliseconds) << 22) | ((n % 16_384) << 8);
    let rush = FOLLOWERS / 5;
    let steady = FOLLOWERS - rush;
    let spread = (0..steady).map(|n| id(n * (month_ms / steady), n));
    let rushed = (0..rush).map(|n| id(month_ms / 3 + 7 + n, 5_000 + n));
    let all: HashSet<_> = spread.chain(rushed).collect();
    assert_eq!(
        all.len() as u64,
        FOLLOWERS,
        "two followers have the same id"
    );
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_unstable();
    all
}

#[tokio::test]
async fn a_tweet_reaches_every_active_one_of_25_000_followers() {
    let pages_of_1000 = [("FAN_OUT_PAGE_SIZE", "1000")];
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&pages_of_1000).await else {
        return;
    };
    let roost = cloud.client();
    let [author, reader, late] = roost.sign_up_each(["star", "reader", "late"]).await;
    reader.follow(&author).await;
    reader.newest().await;
    let followers = fabricated_followers(author.id);

    let started = Instant::now();
    tables.add_followers(author.id, &followers).await;
    println!("{FOLLOWERS} edges written in {:?}", started.elapsed());

    // The stream of edges has a long way to go; tweets must not wait for it.
    let first = author.post("first").await;
    eventually(
        PATIENCE,
        "a follower sees a tweet while 25,000 edges are being counted",
        || async { expect_timeline(&reader.newest().await.data, &[first.id]) },
    )
    .await;
    eventually(
        DRAIN_LIMIT,
        "all followers are counted although they have no profile",
        || async {
            expect_equal(
                "follower_count",
                author.profile().await.follower_count,
                FOLLOWERS as i64 + 1,
            )
        },
    )
    .await;
    late.newest().await;
    late.follow(&author).await;
    eventually(
        DRAIN_LIMIT,
        "a follow behind 25,000 others is applied",
        || async { expect_timeline(&late.newest().await.data, &[first.id]) },
    )
    .await;
    println!(
        "25,000 edges counted and applied {:?} after the first was written",
        started.elapsed()
    );

    let (active, dormant): (Vec<_>, Vec<_>) = followers
        .iter()
        .enumerate()
        .partition(|(n, _)| n % ACTIVE_EVERY == 0);
    let [active, dormant] =
        [active, dormant].map(|all| all.into_iter().map(|(_, id)| *id).collect::<Vec<u64>>());
    assert!(active.len() > 300, "{} active followers", active.len());
    cache.activate(&active).await;

    let tweet = author.post("second").await;
    let posted = Instant::now();
    let expected = [entry(tweet.id, author.id).to_vec(), SENTINEL.to_vec()];
    eventually(
        PATIENCE,
        "every active follower's list has the tweet",
        || async {
            let lists = cache.home_timelines(&active).await;
            let without = active
                .iter()
                .zip(&lists)
                .filter(|(_, list)| **list != expected)
                .collect::<Vec<_>>();
            if without.is_empty() {
                Ok(())
            } else {
                Err(format!(
                    "{} are wrong, for example {:?}",
                    without.len(),
                    without[0]
                ))
            }
        },
    )
    .await;
    println!(
        "{} active ones of {FOLLOWERS} followers reached {:?} after the 201",
        active.len(),
        posted.elapsed()
    );
    for real in [&reader, &late] {
        eventually(
            PATIENCE,
            "followers with a profile see both tweets",
            || async { expect_timeline(&real.newest().await.data, &[tweet.id, first.id]) },
        )
        .await;
    }

    let everybody = FOLLOWERS + 2;
    let pages = eventually(PATIENCE, "the log accounts for every follower", || async {
        let pages = cloud.deliveries(tweet.id);
        let followers: u64 = pages.iter().map(|page| page.followers).sum();
        if followers >= everybody {
            Ok(pages)
        } else {
            Err(format!("{followers} of {everybody} in {pages:?}"))
        }
    })
    .await;
    let depth = pages
        .iter()
        .map(|page| page.depth)
        .max()
        .unwrap_or_default();
    let first_pages = pages
        .iter()
        .filter(|page| page.function == "fan-out-tweets")
        .count();
    println!(
        "{first_pages} first and {} further pages, {depth} hand-overs deep",
        pages.len() - first_pages
    );
    assert!(depth > 0, "nothing was handed over");
    assert!(
        pages.iter().all(|page| page.followers <= 1_000),
        "an invocation delivered to more than it may: {pages:?}"
    );
    let delivered: u64 = pages.iter().map(|page| page.delivered).sum();
    assert!(
        delivered >= active.len() as u64 + 2,
        "{delivered} deliveries for {} active followers",
        active.len() + 2
    );

    let woken = cache
        .home_timelines(&dormant)
        .await
        .iter()
        .filter(|list| !list.is_empty())
        .count();
    assert_eq!(woken, 0, "dormant followers were given a list");
}

/// More than an author may have to be served while they post.
const POLLED_FOLLOWERS: u64 = 1_500;
const POLLED_TWEETS: usize = 4;

#[tokio::test]
async fn a_tweet_waits_for_lambdas_polls_and_still_reaches_everybody_once() {
    let parameters = [
        ("ROOST_LAMBDA_POLLING", "true"),
        ("FAN_OUT_PAGE_SIZE", "200"),
        // One shard has one rhythm.
        ("STREAM_MODE", "PROVISIONED"),
        ("STREAM_SHARDS", "1"),
    ];
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&parameters).await else {
        return;
    };
    let author = cloud.client().sign_up("star").await;
    let followers: Vec<u64> = (1..=POLLED_FOLLOWERS)
        .map(|n| author.id - n * 1_000)
        .collect();
    // Whoever is followed is also filled into lists, which is not what this is about.
    tables.stop_stream_of_followers().await;
    tables.load_followers(author.id, &followers).await;
    cache.activate(&followers).await;

    let mut expected = vec![SENTINEL.to_vec()];
    let mut arrivals = Vec::new();
    for n in 0..POLLED_TWEETS {
        let tweet = author.post(&format!("polled {n}")).await;
        expected.insert(0, entry(tweet.id, author.id).to_vec());
        eventually(PATIENCE, "every follower has it once", || async {
            let lists = cache.home_timelines(&followers).await;
            let wrong = lists.iter().filter(|list| **list != expected).count();
            expect_equal("wrong lists", wrong, 0)
        })
        .await;
        arrivals.push(Instant::now());
        let pages = cloud.deliveries(tweet.id);
        assert!(pages.iter().any(|page| page.depth > 0), "{pages:?}");
        eventually(PATIENCE, "work that is done is not kept", || async {
            expect_equal("hand-overs", tables.handed_over().await, Vec::new())
        })
        .await;
    }
    // A tweet is posted when the one before has arrived, so each needs a poll of its own. Polls are a second apart; the
    // first tweet may have been slow to arrive after its poll, because its functions had to start.
    let took = arrivals[POLLED_TWEETS - 1] - arrivals[0];
    let least = Duration::from_secs(POLLED_TWEETS as u64 - 2);
    assert!(took >= least, "{took:?} for {} tweets", POLLED_TWEETS - 1);
}

#[tokio::test]
async fn a_tweet_comes_by_a_stream_that_pushes() {
    let parameters = [
        ("ENHANCED_FAN_OUT", "true"),
        ("SYNC_FAN_OUT_FOLLOWERS", "0"),
    ];
    let Some(cloud) = LocalCloud::for_test(&parameters).await else {
        return;
    };
    let roost = cloud.client();
    let [author, reader] = roost.sign_up_each(["author", "reader"]).await;
    reader.follow(&author).await;
    reader.newest().await;
    let tweet = author.post("pushed").await;
    eventually(PATIENCE, "a follower has it", || async {
        expect_timeline(&reader.newest().await.data, &[tweet.id])
    })
    .await;
    eventually(PATIENCE, "the stream brought it", || async {
        let pages = cloud.deliveries(tweet.id);
        let by_stream = pages.iter().any(|page| page.function == "fan-out-tweets");
        expect_equal("delivered by the stream", by_stream, true)
    })
    .await;
}
