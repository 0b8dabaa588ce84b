use std::collections::BTreeMap;

use futures_util::future::join_all;
use shared::domain::UserId;
use shared::stores::counts::{EDGES_PER_TRANSACTION, EdgeChange};
use shared::stores::follows::Edge;
use shared::stores::users::UserRow;

use super::{Stores, someone};

fn change(follower: UserId, followee: UserId, by: i64) -> EdgeChange {
    EdgeChange {
        event_id: format!("test-{}", fastrand::u128(..)),
        edge: Edge::new(follower, followee),
        by,
    }
}

/// Followers and following, as the changes add up.
fn expected(changes: &[EdgeChange]) -> BTreeMap<UserId, (i64, i64)> {
    let mut totals: BTreeMap<UserId, (i64, i64)> = BTreeMap::new();
    for change in changes {
        totals.entry(change.edge.followee()).or_default().0 += change.by;
        totals.entry(change.edge.follower()).or_default().1 += change.by;
    }
    totals
}

async fn assert_counts(stores: &Stores, user: UserId, (followers, following): (i64, i64)) {
    let user = stores.users().get(user).await.expect("a user");
    assert_eq!(
        (
            i64::try_from(user.follower_count),
            i64::try_from(user.following_count)
        ),
        (Ok(followers), Ok(following))
    );
}

#[tokio::test]
async fn an_event_counts_once_however_the_stream_is_cut_into_batches() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let people = join_all((0..5).map(|_| stores.sign_up())).await;
    let people: Vec<UserId> = people.iter().map(UserRow::id).collect();
    // Everybody follows everybody; then every third leaves again, so that changes cancel out inside some batches.
    let pairs = people
        .iter()
        .flat_map(|a| people.iter().map(move |b| (*a, *b)))
        .filter(|(a, b)| a != b);
    let came: Vec<EdgeChange> = pairs.map(|(a, b)| change(a, b, 1)).collect();
    let went = came.iter().step_by(3);
    let went = went.map(|came| change(came.edge.follower(), came.edge.followee(), -1));
    let changes: Vec<EdgeChange> = came.iter().cloned().chain(went).collect();
    let expected = expected(&changes);

    // Three deliveries of the whole stream at once, each cut differently, and each batch twice.
    let deliver = async |size: usize| {
        let counts = stores.counts();
        for batch in changes.chunks(size) {
            for _ in 0..2 {
                counts.apply(batch).await.expect("a count");
            }
        }
    };
    tokio::join!(deliver(1), deliver(7), deliver(EDGES_PER_TRANSACTION));

    for user in &people {
        assert_counts(&stores, *user, expected[user]).await;
    }
}

#[tokio::test]
async fn users_without_a_profile_do_not_keep_others_from_being_counted() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (ada, bob) = (stores.sign_up().await.id(), stores.sign_up().await.id());
    let mut changes: Vec<EdgeChange> = (0..10).map(|_| change(someone(), ada, 1)).collect();
    changes.extend((0..10).map(|_| change(bob, someone(), 1)));
    changes.extend([change(bob, ada, 1), change(someone(), someone(), 1)]);

    for _ in 0..2 {
        let concerned = stores.counts().apply(&changes).await.expect("a count");
        assert!(concerned.contains(&ada) && concerned.contains(&bob));
        assert_counts(&stores, ada, (11, 0)).await;
        assert_counts(&stores, bob, (0, 11)).await;
    }
}

#[tokio::test]
async fn every_change_of_the_counts_raises_the_version() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (ada, bob) = (stores.sign_up().await.id(), stores.sign_up().await.id());
    let version = async || {
        let row = stores.users().row(ada).await.expect("the table answers");
        row.expect("a row").version
    };
    let before = version().await;
    let followed = [change(bob, ada, 1)];
    stores.counts().apply(&followed).await.expect("a count");
    let after = version().await;
    assert!(after > before);
    stores.counts().apply(&followed).await.expect("a count");
    assert_eq!(version().await, after);
}
