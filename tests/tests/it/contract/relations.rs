//! Mutes and blocks: they are made, undone and listed alike.

use roost_tests::{Answer, Client, Method, User};
use serde_json::Value;

use super::{BAD_IDS, UNKNOWN_ID, assert_user};

/// What follows a person's id in the path, and the caller's own list.
const RELATIONS: [(&str, &str); 2] = [("mute", "mutes"), ("block", "blocks")];

const NOBODY: [u64; 0] = [];

async fn relate(me: &User, method: Method, relation: &str, other: impl ToString) -> Answer {
    let path = format!("/v1/users/{}/{relation}", other.to_string());
    me.call(method, &path).send().await
}

async fn ids_in(me: &User, list: &str, limit: usize) -> Vec<u64> {
    let people = me.related(list, limit).await;
    people.iter().map(|person| person.id).collect()
}

#[tokio::test]
async fn a_relation_is_made_once_and_undone_once() {
    let roost = Client::shared().await;
    for (relation, list) in RELATIONS {
        let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
        for _ in 0..2 {
            let made = relate(&ada, Method::PUT, relation, bob.id).await;
            assert_eq!(made.expect(204).text(), "");
            assert_eq!(ids_in(&ada, list, 20).await, [bob.id]);
        }
        assert_eq!(ids_in(&bob, list, 20).await, NOBODY, "it goes one way");
        for _ in 0..2 {
            let undone = relate(&ada, Method::DELETE, relation, bob.id).await;
            assert_eq!(undone.expect(204).text(), "");
            assert_eq!(ids_in(&ada, list, 20).await, NOBODY);
        }
    }
}

#[tokio::test]
async fn nobody_has_a_relation_to_themselves() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    for (relation, list) in RELATIONS {
        for method in [Method::PUT, Method::DELETE] {
            for myself in [ada.id.to_string(), "me".to_owned()] {
                let answer = relate(&ada, method.clone(), relation, myself).await;
                answer.expect_problem(422);
            }
        }
        assert_eq!(ids_in(&ada, list, 20).await, NOBODY);
    }
}

#[tokio::test]
async fn a_relation_needs_somebody_who_exists() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    for (relation, list) in RELATIONS {
        let unknown = relate(&ada, Method::PUT, relation, UNKNOWN_ID).await;
        unknown.expect_problem(404);
        // There is nothing to undo, so it is done.
        let undone = relate(&ada, Method::DELETE, relation, UNKNOWN_ID).await;
        undone.expect(204);
        for id in BAD_IDS {
            for method in [Method::PUT, Method::DELETE] {
                let answer = relate(&ada, method, relation, id).await;
                answer.expect_problem(400);
            }
        }
        assert_eq!(ids_in(&ada, list, 20).await, NOBODY);
    }
}

#[tokio::test]
async fn the_newest_relation_is_listed_first_page_by_page() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let people = roost.sign_up_many("other", 7).await;
    for (relation, list) in RELATIONS {
        // Not in the order in which they signed up.
        let order = [3, 0, 6, 1, 5, 2, 4];
        for n in order {
            let made = relate(&ada, Method::PUT, relation, people[n].id).await;
            made.expect(204);
        }
        // Made again, it keeps its place.
        let again = relate(&ada, Method::PUT, relation, people[3].id).await;
        again.expect(204);
        let expected: Vec<u64> = order.iter().rev().map(|n| people[*n].id).collect();
        for limit in [1, 3, 6, 7, 100] {
            assert_eq!(ids_in(&ada, list, limit).await, expected, "limit {limit}");
        }

        let first: Value = ada
            .get(&format!("/v1/users/me/{list}?limit=3"))
            .await
            .expect(200)
            .json();
        first["data"]
            .as_array()
            .expect("users")
            .iter()
            .for_each(assert_user);
        let cursor = first["meta"]["next_cursor"].as_str().expect("a cursor");
        // What a cursor stands on may go meanwhile.
        let gone = relate(&ada, Method::DELETE, relation, expected[2]).await;
        gone.expect(204);
        let second: Value = ada
            .get(&format!("/v1/users/me/{list}?limit=100&cursor={cursor}"))
            .await
            .expect(200)
            .json();
        let rest = second["data"].as_array().expect("users");
        let rest: Vec<String> = rest.iter().map(|user| user["id"].to_string()).collect();
        let expected: Vec<String> = expected[3..].iter().map(|id| format!("\"{id}\"")).collect();
        assert_eq!(rest, expected);
    }
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    for (_, list) in RELATIONS {
        let other_list = if list == "mutes" { 'b' } else { 'm' };
        let foreign = format!("{other_list}{}", "0".repeat(28));
        let query = ["", "1", "abc", UNKNOWN_ID, &foreign].map(|cursor| format!("cursor={cursor}"));
        let limits = ["limit=0", "limit=101", "limit=x"].map(str::to_owned);
        for query in query.iter().chain(&limits) {
            let path = format!("/v1/users/me/{list}?{query}");
            ada.get(&path).await.expect_problem(400);
        }
    }
}

#[tokio::test]
async fn relations_have_a_limit() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    for (relation, list) in RELATIONS {
        let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
        tables.set_relations_count(ada.id, list, 4_999).await;
        let last = relate(&ada, Method::PUT, relation, bob.id).await;
        last.expect(204);

        let one_more = relate(&ada, Method::PUT, relation, eve.id).await;
        one_more.expect_problem(422);
        assert_eq!(ids_in(&ada, list, 20).await, [bob.id]);
        // Whoever is in the list already can be put there again, and one who goes makes room.
        let again = relate(&ada, Method::PUT, relation, bob.id).await;
        again.expect(204);
        let undone = relate(&ada, Method::DELETE, relation, bob.id).await;
        undone.expect(204);
        let room = relate(&ada, Method::PUT, relation, eve.id).await;
        room.expect(204);
        assert_eq!(ids_in(&ada, list, 20).await, [eve.id]);
    }
}
