use std::time::Duration;

use futures_util::future::join_all;
use shared::stores::RateLimits;
use shared::stores::rate_limits::Kind;

use super::Stores;

#[tokio::test]
async fn a_budget_is_spent_refilled_and_nobody_elses() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    // Four at once, one every two and a half seconds.
    let limits = stores.make(RateLimits::new);
    let (one, other) = (stores.subject(), stores.subject());
    let verdicts = join_all((0..10).map(|_| limits.take(&one, Kind::Read))).await;
    let verdicts: Vec<_> = verdicts
        .into_iter()
        .map(|v| v.expect("an answer"))
        .collect();
    assert_eq!(verdicts.iter().filter(|verdict| verdict.allowed).count(), 4);
    let mut remaining: Vec<_> = verdicts.iter().map(|verdict| verdict.remaining).collect();
    remaining.sort_unstable();
    assert_eq!(remaining, [0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);

    let refusal = limits.take(&one, Kind::Read).await.expect("an answer");
    assert!(!refusal.allowed);
    let refill = Duration::from_millis(2_500);
    assert!(refusal.retry_after <= refill, "{refusal:?}");
    assert!(
        refusal.reset_after > refill * 3 && refusal.reset_after <= refill * 4,
        "{refusal:?}"
    );
    let verdict = limits.take(&other, Kind::Read).await.expect("an answer");
    assert_eq!((verdict.allowed, verdict.remaining), (true, 3));
    assert_eq!(
        limits.take(&one, Kind::Write).await,
        None,
        "writes have no limit here"
    );

    tokio::time::sleep(refusal.retry_after).await;
    let verdict = limits.take(&one, Kind::Read).await.expect("an answer");
    assert!(verdict.allowed, "{verdict:?}");
}
