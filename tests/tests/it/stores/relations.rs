use roost_tests::in_parallel;
use shared::domain::relation::Relation;
use shared::stores::follows::{Edge, Followed};
use shared::stores::relations::Added;

use super::{Stores, someone};

#[tokio::test]
async fn a_block_is_known_on_both_sides_and_a_mute_on_one() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (relations, me) = (stores.relations(), someone());
    let [muted, blocked, muter, blocker] = [(); 4].map(|()| someone());
    for (relation, owner, other) in [
        (Relation::Mute, me, muted),
        (Relation::Block, me, blocked),
        (Relation::Mute, muter, me),
        (Relation::Block, blocker, me),
    ] {
        let added = relations.add(relation, owner, other, 1, None).await;
        assert_eq!(added.expect("the table answers"), Added::New);
    }
    let excluded = relations.excluded(me).await.expect("the table answers");
    assert_eq!(excluded, [muted, blocked, blocker].into());
    for (owner, other, expected) in [
        (me, blocked, true),
        (blocked, me, false),
        (blocker, me, true),
        (me, blocker, false),
        (me, muted, false),
    ] {
        let blocks = relations.blocks(owner, other).await;
        assert_eq!(blocks.expect("the table answers"), expected);
    }
}

#[tokio::test]
async fn a_block_and_an_edge_never_stand_together() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (relations, follows, following) =
        (stores.relations(), stores.follows(), stores.following());
    let [one, other] = [someone(), someone()];
    let edges = [Edge::new(one, other), Edge::new(other, one)];
    for edge in edges {
        let followed = follows.follow(edge, &relations).await;
        assert_eq!(followed.expect("the tables answer"), Followed::Yes);
    }

    let blocked = relations
        .add(Relation::Block, one, other, 1, Some(&follows))
        .await;
    assert_eq!(blocked.expect("the tables answer"), Added::New);

    for (edge, refusal) in edges
        .into_iter()
        .zip([Followed::BlockedByFollower, Followed::BlockedByFollowee])
    {
        let followed = follows.follow(edge, &relations).await;
        assert_eq!(followed.expect("the tables answer"), refusal);
        assert!(!following.contains(edge).await.expect("the table answers"));
    }
    let unblocked = relations.remove(Relation::Block, one, other).await;
    assert!(unblocked.expect("the table answers"));
    let followed = follows.follow(edges[1], &relations).await;
    assert_eq!(followed.expect("the tables answer"), Followed::Yes);
}

#[tokio::test]
async fn as_many_relations_as_allowed_are_made_however_many_are_tried_at_once() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let Some(tables) = stores.client.tables().await else {
        return;
    };
    let (relations, owner) = (stores.relations(), someone());
    for (relation, kind) in [(Relation::Mute, "mutes"), (Relation::Block, "blocks")] {
        tables
            .set_relations_count(owner.get(), kind, Relation::MOST - 6)
            .await;
        let others: Vec<_> = (0..10).map(|_| someone()).collect();

        let adding = others.iter().map(|other| async {
            let added = relations.add(relation, owner, *other, 1, None).await;
            added.expect("the table answers")
        });
        let added = in_parallel(3, adding).await;

        let new = added.iter().filter(|added| **added == Added::New).count();
        let refused = added.iter().filter(|added| **added == Added::TooMany);
        assert_eq!((new, refused.count()), (6, 4));
        let made = relations.some_others(relation, owner, 100).await;
        let made = made.expect("the table answers");
        assert_eq!(made.len(), 6);
        for other in others {
            let owners = relations.some_owners(relation, other, 100).await;
            let owners = owners.expect("the table answers");
            assert_eq!(owners.contains(&owner), made.contains(&other), "a mirror");
        }
        for other in &made {
            for there_was in [true, false] {
                let removed = relations.remove(relation, owner, *other).await;
                assert_eq!(removed.expect("the table answers"), there_was);
            }
        }
        let count = tables.relations_count(owner.get(), kind).await;
        assert_eq!(count, Relation::MOST - 6, "each was taken off once");
    }
}
