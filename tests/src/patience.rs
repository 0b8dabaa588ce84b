//! When something has to hold, and many things at once.

use std::env;
use std::fmt::Debug;
use std::future::Future;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::{StreamExt, stream};
use tokio::time::sleep;

/// How long asynchronous work may take before a test calls it lost.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How often [`insist`] takes no for an answer.
const INSISTED: usize = 5;

static STRETCH: LazyLock<f64> = LazyLock::new(|| match env::var("ROOST_PATIENCE") {
    Ok(text) => text
        .parse()
        .ok()
        .filter(|factor| *factor > 0.0)
        .expect("ROOST_PATIENCE is a factor, for example 2.5"),
    Err(_) => 1.0,
});

/// A time limit as this target needs it.
pub fn stretched(limit: Duration) -> Duration {
    limit.mul_f64(*STRETCH)
}

/// Asks again and again until the answer is `Ok`, and fails with the last complaint after `limit`.
pub async fn eventually<T, F>(limit: Duration, what: &str, mut check: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, String>>,
{
    let limit = stretched(limit);
    let started = Instant::now();
    let mut pause = Duration::from_millis(20);
    loop {
        let complaint = match check().await {
            Ok(value) => return value,
            Err(complaint) => complaint,
        };
        assert!(
            started.elapsed() < limit,
            "{what}: still not so after {limit:?}: {complaint}"
        );
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(250));
    }
}

/// What it says when it says something. A busy machine can take longer than a caller waits; what is asked here bears
/// being done twice, so it is asked again, a few times.
pub async fn insist<T, E: Debug, F>(mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, E>>,
{
    for _ in 0..INSISTED {
        match ask().await {
            Ok(value) => return value,
            Err(error) => eprintln!("asking again: {error:?}"),
        }
        sleep(Duration::from_millis(100)).await;
    }
    ask().await.expect("an answer at last")
}

/// Asks again and again for `time`, and fails with the first complaint. Not stretched: it bounds what must never happen.
pub async fn throughout<F>(time: Duration, what: &str, mut check: impl FnMut() -> F)
where
    F: Future<Output = Result<(), String>>,
{
    let started = Instant::now();
    while started.elapsed() < time {
        if let Err(complaint) = check().await {
            panic!(
                "{what}: no longer so after {:?}: {complaint}",
                started.elapsed()
            );
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Equality for [`eventually`]: a mismatch is a complaint and not yet a failure.
#[expect(
    clippy::needless_pass_by_value,
    reason = "what is compared is mostly made for it"
)]
pub fn expect_equal<T: PartialEq + Debug>(
    what: &str,
    actual: T,
    expected: T,
) -> Result<(), String> {
    if actual == expected {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected:?}, found {actual:?}"))
    }
}

/// Runs at most `width` of these at once; answers in the order of `work`.
pub async fn in_parallel<F: Future>(
    width: usize,
    work: impl IntoIterator<Item = F>,
) -> Vec<F::Output> {
    stream::iter(work).buffered(width).collect().await
}

/// The time, in seconds since 1970.
pub fn now_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
