use roost_tests::{Client, Method};

use super::UNKNOWN_ID;

#[tokio::test]
async fn following_twice_is_following_once() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;

    ada.follow(&bob).await;
    ada.follow(&bob).await;

    assert_eq!(
        ada.following(100)
            .await
            .iter()
            .map(|user| user.id)
            .collect::<Vec<_>>(),
        [bob.id]
    );
    assert_eq!(
        bob.followers(100)
            .await
            .iter()
            .map(|user| user.id)
            .collect::<Vec<_>>(),
        [ada.id]
    );
}

#[tokio::test]
async fn unfollowing_twice_is_unfollowing_once() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    ada.follow(&bob).await;

    ada.unfollow(&bob).await;
    ada.unfollow(&bob).await;

    assert_eq!(ada.following(100).await, []);
    assert_eq!(bob.followers(100).await, []);
}

#[tokio::test]
async fn nobody_follows_themselves() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    for method in [Method::POST, Method::DELETE] {
        ada.call(method, &format!("/v1/users/{}/follow", ada.id))
            .send()
            .await
            .expect_problem(422);
    }

    assert_eq!(ada.following(100).await, []);
}

#[tokio::test]
async fn nobody_follows_somebody_unknown() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    let path = format!("/v1/users/{UNKNOWN_ID}/follow");

    ada.call(Method::POST, &path)
        .send()
        .await
        .expect_problem(404);
    // There is nothing to undo, so it is done.
    ada.call(Method::DELETE, &path).send().await.expect(204);

    assert_eq!(ada.following(100).await, []);
}

#[tokio::test]
async fn a_204_has_no_body() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;

    for method in [Method::POST, Method::DELETE] {
        let answer = ada
            .call(method, &format!("/v1/users/{}/follow", bob.id))
            .send()
            .await
            .expect(204);
        assert_eq!(answer.text(), "");
    }
}
