//! Sandboxes die at any moment. Streams deliver again, and nothing may be lost or counted twice for it.

use std::time::{Duration, Instant};

use roost_tests::{LocalCloud, eventually, expect_timeline, in_parallel};

const PEOPLE: usize = 12;
const VICTIMS: [&str; 5] = [
    "fan-out-pages",
    "fan-out-tweets",
    "count-follows",
    "publish-tweets",
    "apply-follows",
];
/// Killing goes on this long after the last request, so that it also meets what is still on its way.
const AFTERMATH: Duration = Duration::from_secs(2);
const KILLING_LIMIT: Duration = Duration::from_secs(30);
const RECOVERY_LIMIT: Duration = Duration::from_secs(60);

/// Kills a stream consumer every 100 to 200 ms, rather one that is at work, until told to stop. Gives the number.
async fn kill_consumers(
    cloud: &LocalCloud,
    mut random: fastrand::Rng,
    stop: &tokio::sync::Notify,
) -> usize {
    let started = Instant::now();
    let mut killed = 0;
    let stopped = stop.notified();
    tokio::pin!(stopped);
    while started.elapsed() < KILLING_LIMIT {
        let pause = Duration::from_millis(random.u64(100..200));
        if tokio::time::timeout(pause, &mut stopped).await.is_ok() {
            break;
        }
        let consumers: Vec<_> = cloud
            .sandboxes()
            .await
            .into_iter()
            .filter(|sandbox| VICTIMS.contains(&sandbox.function.as_str()))
            .collect();
        let busy: Vec<_> = consumers.iter().filter(|sandbox| sandbox.busy).collect();
        let victim = if busy.is_empty() {
            random.choice(&consumers)
        } else {
            random.choice(busy)
        };
        killed += usize::from(victim.is_some_and(|sandbox| cloud.kill(sandbox)));
    }
    killed
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_while_stream_consumers_are_killed() {
    let Some(cloud) = LocalCloud::for_test(&[("FAN_OUT_PAGE_SIZE", "5")]).await else {
        return;
    };
    let roost = cloud.client();
    let Some(tables) = roost.tables().await else {
        return;
    };
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

    // 200 changes of edges, one in five an unfollow, and 200 tweets, one in ten deleted again.
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
            steps.into_iter().map(|(edge, n, who, distance)| {
                let (user, other) = (&people[who], &people[(who + distance) % PEOPLE]);
                async move {
                    match (edge, n) {
                        (true, n) if n % 5 == 4 => user.unfollow(other).await,
                        (true, _) => user.follow(other).await,
                        (false, n) => {
                            let tweet = user.post(&format!("number {n}")).await;
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
    let ((), killed) = tokio::join!(load, kill_consumers(&cloud, random.fork(), &stop));
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
    for user in &people {
        let expected = tables.home_timeline_of(user.id).await;
        eventually(
            RECOVERY_LIMIT,
            &format!("the timeline of {} is the oracle's", user.handle),
            || async { expect_timeline(&user.try_walk(50).await?, &expected) },
        )
        .await;
    }
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
