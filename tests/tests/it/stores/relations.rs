use roost_tests::in_parallel;
use shared::domain::relation::Relation;
use shared::stores::relations::Added;

use super::{Stores, someone};

#[tokio::test]
async fn as_many_relations_as_allowed_are_made_however_many_are_tried_at_once() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let Some(tables) = stores.client.tables().await else {
        return;
    };
    let (relations, owner) = (stores.relations(), someone());
    for (relation, kind) in [(Relation::Mute, "mutes")] {
        tables
            .set_relations_count(owner.get(), kind, Relation::MOST - 6)
            .await;
        let others: Vec<_> = (0..10).map(|_| someone()).collect();

        let adding = others.iter().map(|other| async {
            let added = relations.add(relation, owner, *other, 1).await;
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
