use futures_util::future::join_all;
use shared::domain::UserId;
use shared::stores::follows::Edge;

use super::{Stores, someone};

/// Does this table have the edge? Both must say the same.
async fn edge_in_both_tables(stores: &Stores, follower: UserId, followee: UserId) -> [bool; 2] {
    let followers = stores.followers().page(followee, None, 100).await;
    let following = stores.following().all(follower).await;
    [
        followers
            .expect("the table answers")
            .ids
            .contains(&follower),
        following.expect("the table answers").contains(&followee),
    ]
}

#[tokio::test]
async fn follows_and_unfollows_of_one_edge_at_once_leave_both_tables_alike() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (follower, others) = (someone(), [someone(), someone(), someone()]);
    for round in 0..10 {
        let changes = (0..24).map(|n| {
            let (follows, edge) = (stores.follows(), Edge::new(follower, others[n % 3]));
            let relations = stores.relations();
            async move {
                if (n / 3 + round) % 2 == 0 {
                    follows.follow(edge, &relations).await.map(drop)
                } else {
                    follows.unfollow(edge).await.map(drop)
                }
            }
        });
        for changed in join_all(changes).await {
            changed.expect("a follow or an unfollow");
        }
        for other in others {
            let [followers, following] = edge_in_both_tables(&stores, follower, other).await;
            assert_eq!(followers, following, "in round {round}");
        }
    }
}

#[tokio::test]
async fn the_last_of_follow_and_unfollow_holds_in_both_tables() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (ada, bob, follows) = (someone(), someone(), stores.follows());
    let (following, relations) = (stores.following(), stores.relations());
    let edge = Edge::new(ada, bob);
    for _ in 0..2 {
        follows.follow(edge, &relations).await.expect("a follow");
        assert_eq!(edge_in_both_tables(&stores, ada, bob).await, [true; 2]);
        assert_eq!(edge_in_both_tables(&stores, bob, ada).await, [false; 2]);
        assert!(following.contains(edge).await.expect("the table answers"));
    }
    for _ in 0..2 {
        follows.unfollow(edge).await.expect("an unfollow");
        assert_eq!(edge_in_both_tables(&stores, ada, bob).await, [false; 2]);
        assert!(!following.contains(edge).await.expect("the table answers"));
    }
}
