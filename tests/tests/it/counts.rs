//! Counts are the number of edges, and both tables of edges say the same (I4).

use std::collections::BTreeSet;

use roost_tests::{Client, PATIENCE, eventually, in_parallel};

#[tokio::test]
async fn counts_follow_every_follow_and_unfollow() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;

    ada.follow(&bob).await;
    eve.follow(&bob).await;
    bob.follow(&ada).await;
    eventually(PATIENCE, "follows are counted", || async {
        ada.expect_counts(1, 1).await?;
        bob.expect_counts(2, 1).await?;
        eve.expect_counts(0, 1).await
    })
    .await;

    ada.unfollow(&bob).await;
    // Neither of these changes an edge.
    ada.unfollow(&bob).await;
    eve.follow(&bob).await;
    eventually(PATIENCE, "unfollows are counted", || async {
        ada.expect_counts(1, 0).await?;
        bob.expect_counts(1, 1).await?;
        eve.expect_counts(0, 1).await
    })
    .await;
}

#[tokio::test]
async fn many_follows_at_once_are_counted_once_each() {
    let roost = Client::shared().await;
    let people = roost.sign_up_many("crowd", 10).await;
    let pairs = || {
        people
            .iter()
            .flat_map(|a| people.iter().map(move |b| (a, b)))
            .filter(|(a, b)| a.id != b.id)
    };

    // Each follow is sent twice, close together: only one of them makes an edge.
    in_parallel(
        8,
        pairs().flat_map(|pair| [pair; 2]).map(|(a, b)| a.follow(b)),
    )
    .await;
    let everybody = people.len() - 1;
    eventually(PATIENCE, "everybody follows everybody", || async {
        for user in &people {
            user.expect_counts(everybody, everybody).await?;
        }
        Ok(())
    })
    .await;

    let leaving: Vec<_> = pairs()
        .enumerate()
        .filter(|(n, _)| n % 3 == 0)
        .map(|(_, pair)| pair)
        .collect();
    in_parallel(
        8,
        leaving
            .iter()
            .flat_map(|pair| [pair; 2])
            .map(|(a, b)| a.unfollow(b)),
    )
    .await;
    eventually(PATIENCE, "every third edge is gone", || async {
        for user in &people {
            let lost_followers = leaving.iter().filter(|(_, b)| b.id == user.id).count();
            let lost_following = leaving.iter().filter(|(a, _)| a.id == user.id).count();
            user.expect_counts(everybody - lost_followers, everybody - lost_following)
                .await?;
        }
        Ok(())
    })
    .await;

    for user in &people {
        let followers: BTreeSet<_> = user
            .followers(4)
            .await
            .iter()
            .map(|other| other.id)
            .collect();
        for other in people.iter().filter(|other| other.id != user.id) {
            let follows = other
                .following(4)
                .await
                .iter()
                .any(|followed| followed.id == user.id);
            assert_eq!(
                follows,
                followers.contains(&other.id),
                "{} and {} disagree",
                other.handle,
                user.handle
            );
        }
    }
}

#[tokio::test]
async fn follows_and_unfollows_of_the_same_two_people_at_once_leave_the_counts_right() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    let people = roost.sign_up_many("fickl", 4).await;

    let changes = (0..120).map(|n| {
        let (a, b) = (&people[n % 2], &people[2 + n / 2 % 2]);
        async move {
            if n % 3 == 0 {
                a.unfollow(b).await;
            } else {
                a.follow(b).await;
            }
        }
    });
    in_parallel(8, changes).await;

    eventually(PATIENCE, "counts are the number of edges", || {
        tables.expect_counted_edges(&people)
    })
    .await;
}
