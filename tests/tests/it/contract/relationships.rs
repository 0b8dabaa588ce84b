//! What the caller is to the people who are served, if the caller asks.

use roost_tests::{Client, Method, User};
use serde_json::{Value, json};

use super::assert_user;

fn relationship(following: bool, followed_by: bool) -> Value {
    json!({ "following": following, "followed_by": followed_by, "muting": false, "blocking": false })
}

/// Every address that serves this user, with what is asked of it.
fn addresses(of: &User, reader: &User) -> [String; 6] {
    [
        format!("/v1/users/{}?", of.id),
        format!("/v1/users/by/handle/{}?", of.handle),
        format!("/v1/users?ids={}&", of.id),
        format!("/v1/users/search?q={}&", of.handle),
        format!("/v1/users/{}/followers?", reader.id),
        format!("/v1/users/{}/following?", reader.id),
    ]
}

/// The user in an answer, whether it is one or a list; `None` if it is not there.
fn user_in(answer: &Value, id: u64) -> Option<Value> {
    let listed = answer["data"].as_array().cloned();
    let mut users = listed.unwrap_or_else(|| vec![answer.clone()]).into_iter();
    let id = id.to_string();
    users.find(|user| user["id"] == id.as_str())
}

#[tokio::test]
async fn a_relationship_is_told_wherever_people_are_served() {
    let roost = Client::shared().await;
    let [me, friend, star, fan, stranger] = roost
        .sign_up_each(["me", "friend", "star", "fan", "other"])
        .await;
    for (from, to) in [(&me, &friend), (&friend, &me), (&me, &star), (&fan, &me)] {
        from.follow(to).await;
    }

    for (other, following, followed_by) in [
        (&friend, true, true),
        (&star, true, false),
        (&fan, false, true),
        (&stranger, false, false),
        (&me, false, false),
    ] {
        let mut served = 0;
        for address in addresses(other, &me) {
            let plain = me.get(&address).await.expect(200).json();
            let path = format!("{address}expand=relationship");
            let expanded = me.get(&path).await.expect(200).json();
            let Some(user) = user_in(&expanded, other.id) else {
                continue;
            };
            served += 1;
            assert_user(&user);
            assert_eq!(
                user["relationship"],
                relationship(following, followed_by),
                "{path}"
            );
            let plain = user_in(&plain, other.id).expect("the same people");
            assert_eq!(plain.get("relationship"), None, "{address}");
        }
        let lists = usize::from(following) + usize::from(followed_by);
        assert_eq!(served, 4 + lists, "{}", other.handle);
    }
}

#[tokio::test]
async fn a_relationship_tells_of_mutes_and_blocks() {
    let roost = Client::shared().await;
    let [me, star] = roost.sign_up_each(["me", "star"]).await;
    let relate = async |method: Method, relation: &str| {
        let path = format!("/v1/users/{}/{relation}", star.id);
        me.call(method, &path).send().await.expect(204);
        let path = format!("/v1/users/{}?expand=relationship", star.id);
        let seen = me.get(&path).await.expect(200).json()["relationship"].clone();
        (seen["muting"] == true, seen["blocking"] == true)
    };
    assert_eq!(relate(Method::PUT, "mute").await, (true, false));
    assert_eq!(relate(Method::PUT, "block").await, (true, true));
    assert_eq!(relate(Method::DELETE, "mute").await, (false, true));
    assert_eq!(relate(Method::DELETE, "block").await, (false, false));
}

#[tokio::test]
async fn a_relationship_is_right_once_the_answer_to_a_follow_is_out() {
    let roost = Client::shared().await;
    let [me, star] = roost.sign_up_each(["me", "star"]).await;
    let path = format!("/v1/users/{}?expand=relationship", star.id);
    for _ in 0..3 {
        me.follow(&star).await;
        let seen = me.get(&path).await.expect(200).json();
        assert_eq!(seen["relationship"], relationship(true, false));
        me.unfollow(&star).await;
        let seen = me.get(&path).await.expect(200).json();
        assert_eq!(seen["relationship"], relationship(false, false));
    }
}

#[tokio::test]
async fn nothing_else_can_be_expanded() {
    let roost = Client::shared().await;
    let [me, other] = roost.sign_up_each(["me", "other"]).await;
    for address in addresses(&other, &me) {
        for bad in [
            "",
            "relationships",
            "Relationship",
            "true",
            "relationship,x",
        ] {
            let path = format!("{address}expand={bad}");
            me.get(&path).await.expect_problem(400);
        }
    }
}
