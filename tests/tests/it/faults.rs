//! Sandboxes die at any moment. Streams then deliver again, and nothing may be lost or counted twice (I1, I2, I4).

use std::time::{Duration, Instant};

use roost_tests::{LocalCloud, eventually, expect_oracle, expect_timeline, in_parallel};

const PEOPLE: usize = 12;
const VICTIMS: [&str; 7] = [
    "count-reactions",
    "settle-reactions",
    "fan-out-pages",
    "fan-out-tweets",
    "count-follows",
    "publish-tweets",
    "apply-follows",
];
/// Killing goes on this long after the last request, because consumers are then still at work.
const AFTERMATH: Duration = Duration::from_secs(2);
const RECOVERY_LIMIT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn nothing_is_lost_or_doubled_while_stream_consumers_are_killed() {
    let small_pages = [("FAN_OUT_PAGE_SIZE", "5")];
    let Some((cloud, tables, _)) = LocalCloud::with_stores(&small_pages).await else {
        return;
    };
    let roost = cloud.client();
    let mut random = fastrand::Rng::new();
    println!("seed {}", random.get_seed());
    let people = roost.sign_up_many("crowd", PEOPLE).await;
    // A third of them have no timeline until the end.
    for user in people
        .iter()
        .enumerate()
        .filter(|(n, _)| n % 3 != 0)
        .map(|(_, user)| user)
    {
        user.newest().await;
    }

    // 200 changes of edges, one in five an unfollow and one in ten a mute, a block or the end of one, and 200 tweets, one in
    // four reposted by somebody else, one in ten hidden by them, and one in ten deleted again.
    let mut steps: Vec<_> = (0..200).flat_map(|n| [(true, n), (false, n)]).collect();
    random.shuffle(&mut steps);
    let steps: Vec<_> = steps
        .into_iter()
        .map(|(edge, n)| (edge, n, random.usize(0..PEOPLE), random.usize(1..PEOPLE)))
        .collect();
    let stop = tokio::sync::Notify::new();
    let load = async {
        in_parallel(
            8,
            steps.into_iter().map(|(edge, n, user, distance)| {
                let other = &people[(user + distance) % PEOPLE];
                let user = &people[user];
                async move {
                    match (edge, n) {
                        (true, n) if n % 5 == 4 => user.unfollow(other).await,
                        (true, n) if n % 40 == 0 => user.mute(other).await,
                        (true, n) if n % 40 == 10 => user.unmute(other).await,
                        (true, n) if n % 40 == 20 => user.block(other).await,
                        (true, n) if n % 40 == 30 => user.unblock(other).await,
                        (true, _) => drop(user.follow_unless_blocked(other).await),
                        (false, n) => {
                            let tweet = user.post(&format!("number {n}")).await;
                            if n % 4 == 1 {
                                other.react_if_possible("repost", &tweet).await;
                            }
                            if n % 12 == 5 {
                                other.unrepost(&tweet).await;
                            }
                            if n % 10 == 7 {
                                other.react_if_possible("hide", &tweet).await;
                            }
                            if n % 10 == 9 {
                                user.delete(&tweet).await;
                            }
                        }
                    }
                }
            }),
        )
        .await;
        tokio::time::sleep(AFTERMATH).await;
        stop.notify_one();
    };
    let started = Instant::now();
    let killing = cloud.keep_killing(&VICTIMS, 100..200, random.fork(), &stop);
    let ((), killed) = tokio::join!(load, killing);
    println!("{killed} sandboxes killed in {:?}", started.elapsed());
    assert!(
        killed >= 10,
        "only {killed} sandboxes were killed, which proves little"
    );

    let stopped = Instant::now();
    eventually(RECOVERY_LIMIT, "counts are the number of edges", || {
        tables.expect_counted_edges(&people)
    })
    .await;
    expect_oracle(&tables, &people, 50, RECOVERY_LIMIT).await;
    println!(
        "all right again {:?} after the last kill",
        stopped.elapsed()
    );
    for user in &people {
        let expected = tables.home_timeline_of(user.id).await;
        expect_timeline(&user.walk(7).await, &expected)
            .expect("what was right stays right, also in small pages");
    }
}
