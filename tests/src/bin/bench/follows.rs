//! How fast people are followed, and how fast that is counted and acted on behind the answer.
//!
//! Each follow is the transaction that `follow-user` makes. Behind it, `count-follows` counts both ends of the edge, and
//! `apply-follows` looks after the follower's list, as in any local cloud.

use std::time::{Duration, Instant};

use roost_tests::{LocalCloud, in_parallel};
use shared::domain::UserId;
use shared::stores::follows::Edge;
use shared::stores::{Follows, Relations};
use tokio::time::sleep;

use crate::one_thread;
use crate::push::users;
use crate::report::{Goal, Row, Unit};
use crate::stack::{made, roost, sdk};

const PART: &str = "follows";
const FOLLOWERS: u64 = 5_000;
/// Requests under way at once.
const AT_ONCE: usize = 16;
/// How long the counting may take before the benchmark gives up.
const LIMIT: Duration = Duration::from_secs(300);

pub(crate) fn measure() -> Vec<Row> {
    println!("follows: {FOLLOWERS} people follow somebody, {AT_ONCE} at once");
    one_thread().block_on(async {
        let cloud = LocalCloud::start(&[("WARMING_RATE", "0")]).await;
        let tables = cloud.client().tables().await.expect("tables");
        let followed = cloud.client().sign_up("followed").await;
        let ids: Vec<u64> = users(FOLLOWERS).iter().map(|user| user.get()).collect();
        tables.add_profiles(&ids).await;
        let roost = roost(&sdk().await, cloud.environment());
        let (follows, relations) = (made(&roost, Follows::new), made(&roost, Relations::new));
        let followee = UserId::new(followed.id);
        let started = Instant::now();
        let writes = ids.iter().map(|id| {
            let edge = Edge::new(UserId::new(*id), followee);
            follows.follow(edge, &relations)
        });
        for answer in in_parallel(AT_ONCE, writes).await {
            answer.expect("a follow");
        }
        let written = started.elapsed();
        while tables.counts_of(followed.id).await.followers < FOLLOWERS {
            assert!(started.elapsed() < LIMIT, "follows are not counted");
            sleep(Duration::from_millis(20)).await;
        }
        let counted = started.elapsed();
        let rate = |took: Duration| FOLLOWERS as f64 / took.as_secs_f64();
        let figures = [
            ("follows written", Unit::Rate, rate(written)),
            ("follows written and counted", Unit::Rate, rate(counted)),
            (
                "from the last answer to the exact count",
                Unit::Time,
                (counted - written).as_secs_f64(),
            ),
        ];
        let rows = figures.map(|(what, unit, value)| {
            let what = format!("{what}, {FOLLOWERS} by {AT_ONCE} at once");
            Row::figure(PART, what, unit, value, Goal::Told)
        });
        rows.into()
    })
}
