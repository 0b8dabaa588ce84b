//! Followers are what makes a celebrity, so they are counted to the last one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use roost_tests::{Client, Tables, eventually, expect_equal, in_parallel};
use serde_json::json;

use super::{cloud, expect_followers, expect_settled};

const BURST: u64 = 10_000;
const BURST_LIMIT: Duration = Duration::from_secs(90);

/// Write units of one item of at most a kilobyte in a transaction.
const UNITS: u64 = 2;

#[tokio::test]
async fn a_burst_of_10000_follows_ends_with_the_exact_count() {
    let Some(cloud) = cloud("1000000", "5000").await else {
        return;
    };
    let roost = cloud.client();
    let Some(tables) = roost.tables().await else {
        return;
    };
    let star = roost.sign_up("star").await;
    // People with a row but without a token: what counting meets is what it meets after 10,000 sign-ups.
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
    // Exact also means that it stays so.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(tables.counts_of(star.id).await.followers, BURST);
    let edges: BTreeSet<_> = tables.followers_of(star.id).await;
    assert_eq!(edges, followers.into_iter().collect());
}

async fn reconcile(roost: &Client) {
    let event = json!({ "detail-type": "Scheduled Event", "source": "aws.events", "detail": {} });
    roost
        .invoke("reconcile-counts", &event)
        .await
        .expect("a local cloud invokes functions");
}

/// Everything a reconciliation could change.
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
    let Some(cloud) = cloud("50", "100").await else {
        return;
    };
    let roost = cloud.client();
    let Some(tables) = roost.tables().await else {
        return;
    };
    let [drifted, intact] = roost.sign_up_each(["drift", "sound"]).await;
    let fans = roost.sign_up_many("fan", 7).await;
    for user in [&drifted, &intact] {
        in_parallel(7, fans.iter().map(|fan| fan.follow(user))).await;
        expect_followers(user, 7).await;
    }
    eventually(super::PATIENCE, "all is counted", || async {
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
        "what differs may still be on its way"
    );
    reconcile(roost).await;
    assert_eq!(tables.counts_of(drifted.id).await.followers, 7);
    assert_eq!(drifted.profile().await.follower_count, 7);
    assert_eq!(
        state(&tables, &everybody).await,
        others,
        "who was right is left alone"
    );

    // And it goes on from the right count.
    fans[0].unfollow(&drifted).await;
    expect_followers(&drifted, 6).await;
}

/// A count that is about to be repaired says nothing about who is a celebrity.
#[tokio::test]
async fn a_count_that_drifted_does_not_flip_a_tier_on_its_repair() {
    let Some(cloud) = cloud("5", "100").await else {
        return;
    };
    let roost = cloud.client();
    let Some(tables) = roost.tables().await else {
        return;
    };
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
