//! The number of followers decides whether an author is a celebrity, so it is exact (I4).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use roost_tests::{
    Client, PATIENCE, Tables, events, eventually, expect_equal, expect_followers, in_parallel,
};

use super::{cloud, expect_settled};

const BURST: u64 = 10_000;
const BURST_LIMIT: Duration = Duration::from_secs(90);

/// Write units of one item of at most a kilobyte in a transaction.
const UNITS: u64 = 2;

#[tokio::test]
async fn a_burst_of_10000_follows_ends_with_the_exact_count() {
    let Some((cloud, tables, _)) = cloud("1000000", "5000").await else {
        return;
    };
    let roost = cloud.client();
    let star = roost.sign_up("star").await;
    // People with a row but without a token. To the counting function they are like 10,000 people who signed up.
    let followers: Vec<u64> = (1..=BURST).map(|n| star.id - (n << 8)).collect();
    tables.add_profiles(&followers).await;

    let started = Instant::now();
    tables.follow(&followers, star.id).await;
    let written = started.elapsed();
    eventually(BURST_LIMIT, "all follows are counted", || async {
        expect_equal(
            "follower_count",
            star.profile().await.follower_count,
            BURST as i64,
        )
    })
    .await;
    let counted = started.elapsed();

    let transactions = cloud.counted();
    let edges: u64 = transactions.iter().map(|one| one.edges).sum();
    let users: u64 = transactions.iter().map(|one| one.users).sum();
    let units = UNITS * (edges + users);
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let each = |number: u64| number as f64 / BURST as f64;
    println!(
        "{BURST} follows written in {written:?}, counted {counted:?} after the first: {} transactions of {edges} \
         markers and {users} rows, {:.2} write units per follow (and {} for its two edges)",
        transactions.len(),
        each(units),
        2 * UNITS,
    );
    assert_eq!(edges, BURST, "every edge is counted by one transaction");
    assert!(
        each(units) < 4.5,
        "counts of one followee are not coalesced: {:.2} units per follow",
        each(units)
    );
    for fan in followers.iter().step_by(97) {
        let counts = tables.counts_of(*fan).await;
        assert_eq!((counts.followers, counts.following), (0, 1), "{fan}");
    }
    // The count stays exact.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(tables.counts_of(star.id).await.followers, BURST);
    let edges: BTreeSet<_> = tables.followers_of(star.id).await;
    assert_eq!(edges, followers.into_iter().collect());
}

async fn reconcile(roost: &Client) {
    roost
        .invoke("reconcile-counts", &events::scheduled())
        .await
        .expect("a local cloud invokes functions");
}

/// Everything that a reconciliation could change.
async fn state(
    tables: &Tables,
    users: &[u64],
) -> Vec<(roost_tests::Counts, Option<roost_tests::Tier>)> {
    in_parallel(
        1,
        users
            .iter()
            .map(|user| async { (tables.counts_of(*user).await, tables.tier_of(*user).await) }),
    )
    .await
}

#[tokio::test]
async fn reconciliation_repairs_a_count_that_drifted() {
    let Some((cloud, tables, _)) = cloud("50", "100").await else {
        return;
    };
    let roost = cloud.client();
    let [drifted, intact] = roost.sign_up_each(["drift", "sound"]).await;
    let fans = roost.sign_up_many("fan", 7).await;
    for user in [&drifted, &intact] {
        in_parallel(7, fans.iter().map(|fan| fan.follow(user))).await;
        expect_followers(user, 7).await;
    }
    eventually(PATIENCE, "all is counted", || async {
        for fan in &fans {
            fan.expect_counts(0, 2).await?;
        }
        Ok(())
    })
    .await;
    let everybody: Vec<_> = fans.iter().chain([&intact]).map(|user| user.id).collect();
    let others = state(&tables, &everybody).await;

    tables.miscount(drifted.id, 12).await;
    let wrong = state(&tables, &[drifted.id]).await;
    reconcile(roost).await;
    assert_eq!(
        state(&tables, &[drifted.id]).await,
        wrong,
        "a difference that is seen once may still be on its way"
    );
    reconcile(roost).await;
    assert_eq!(tables.counts_of(drifted.id).await.followers, 7);
    assert_eq!(drifted.profile().await.follower_count, 7);
    assert_eq!(
        state(&tables, &everybody).await,
        others,
        "a right count is left alone"
    );

    // The next change starts from the right count.
    fans[0].unfollow(&drifted).await;
    expect_followers(&drifted, 6).await;
}

/// A wrong count must not decide whether an author is a celebrity.
#[tokio::test]
async fn a_count_that_drifted_does_not_flip_a_tier_on_its_repair() {
    let Some((cloud, tables, _)) = cloud("5", "100").await else {
        return;
    };
    let roost = cloud.client();
    let [star, normal] = roost.sign_up_each(["star", "plain"]).await;
    let fans = roost.sign_up_many("fan", 6).await;
    in_parallel(6, fans.iter().map(|fan| fan.follow(&star))).await;
    expect_settled(&tables, &star, "celebrity", 1).await;
    expect_followers(&star, 6).await;

    tables.miscount(star.id, 0).await;
    tables.miscount(normal.id, 9).await;
    for run in 1..=2 {
        reconcile(roost).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(
            tables.tier_of(normal.id).await,
            None,
            "run {run} makes a celebrity of somebody without followers"
        );
        expect_settled(&tables, &star, "celebrity", 1).await;
    }
    assert_eq!(tables.counts_of(star.id).await.followers, 6);
    assert_eq!(tables.counts_of(normal.id).await.followers, 0);
}

/// A batch that is redriven after a reconciliation can be counted twice.
#[tokio::test]
async fn a_count_below_zero_is_shown_as_zero_harms_nobody_else_and_is_repaired() {
    let Some((cloud, tables, cache)) = cloud("50", "100").await else {
        return;
    };
    let roost = cloud.client();
    let [low, fan, other] = roost.sign_up_each(["low", "fan", "other"]).await;
    tables.miscount(low.id, -3).await;

    assert_eq!(low.profile().await.follower_count, 0);
    low.get("/v1/users/me").await.expect(200);
    // Its neighbours in a batch are counted, and cards with it are served.
    fan.follow(&low).await;
    fan.follow(&other).await;
    expect_followers(&other, 1).await;
    eventually(PATIENCE, "the fan's follows are counted", || {
        fan.expect_counts(0, 2)
    })
    .await;
    assert_eq!(fan.following(20).await.len(), 2);
    low.post("from below").await;
    cache.flush().await;
    assert_eq!(fan.newest().await.data.len(), 1);

    for _ in 0..2 {
        reconcile(roost).await;
    }
    assert_eq!(tables.counts_of(low.id).await.followers, 1);
    expect_followers(&low, 1).await;
}

#[tokio::test]
async fn a_row_that_cannot_be_read_stops_neither_a_reconciliation_nor_an_audit() {
    let Some((cloud, tables, _)) = cloud("50", "100").await else {
        return;
    };
    let roost = cloud.client();
    let [broken, drifted] = roost.sign_up_each(["broken", "drift"]).await;
    drifted.newest().await;
    tables.miscount(drifted.id, 12).await;
    tables.spoil(broken.id).await;

    for _ in 0..2 {
        reconcile(roost).await;
    }
    assert_eq!(tables.counts_of(drifted.id).await.followers, 0);
    let audited = roost.invoke("audit-timelines", &events::scheduled()).await;
    audited.expect("a local cloud invokes functions");

    let log = cloud.log();
    let reports = log
        .lines()
        .filter(|line| line.contains("user row left out"));
    let row = format!("user#{}", broken.id);
    assert_eq!(reports.filter(|line| line.contains(&row)).count(), 3);
    assert!(log.contains("\"UnreadableRows\":1"), "nothing to watch");
}
