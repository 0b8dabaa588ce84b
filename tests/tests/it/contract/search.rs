//! Looking for people by the beginning of their handle.

use roost_tests::{Answer, Client, Method, PATIENCE, User, events, eventually, expect_equal};
use serde_json::{Value, json};

use super::assert_user;

async fn search(reader: &User, q: &str) -> Answer {
    reader.get(&format!("/v1/users/search?q={q}")).await
}

/// The handles that a search finds.
async fn found(reader: &User, q: &str) -> Vec<String> {
    let answer = search(reader, q).await.expect(200).json();
    let data = answer["data"].as_array().expect("a list");
    assert_eq!(answer["meta"], json!({ "result_count": data.len() }));
    data.iter().for_each(assert_user);
    let handles = data.iter().map(|user| user["handle"].as_str());
    handles
        .map(|handle| handle.unwrap_or_default().to_owned())
        .collect()
}

/// Waits until a search finds these handles. On AWS the index lags behind by a moment.
async fn eventually_finds(reader: &User, q: &str, expected: &[String]) {
    eventually(PATIENCE, "the index knows them", || async {
        expect_equal("handles", found(reader, q).await, expected.to_vec())
    })
    .await;
}

/// Somebody with exactly this handle.
async fn sign_up(roost: &Client, handle: &str) -> String {
    let token = roost.stranger().await;
    let body = json!({ "handle": handle, "name": handle });
    roost.create_user(&token, &body).await.expect(201);
    token
}

#[tokio::test]
async fn people_are_found_by_the_beginning_of_their_handle_in_its_order() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;
    // Ten characters that nobody else's handle begins with.
    let base = format!("{:_<10.8}", roost.unused_handle("sR"));
    let handles = ["b", "_", "A1", "a", "9", "AB"].map(|end| format!("{base}{end}"));
    let mut tokens = Vec::new();
    for handle in &handles {
        tokens.push(sign_up(&roost, handle).await);
    }

    let expected = ["9", "_", "a", "A1", "AB", "b"].map(|end| format!("{base}{end}"));
    eventually_finds(&reader, &base, &expected).await;
    eventually_finds(&reader, &base.to_uppercase(), &expected).await;
    eventually_finds(&reader, &format!("{base}a"), &expected[2..5]).await;
    eventually_finds(&reader, &format!("{base}ab"), &expected[4..5]).await;
    assert_eq!(found(&reader, &format!("{base}zz")).await, [""; 0]);
    // Two characters are enough.
    assert!(!found(&reader, &base[..2]).await.is_empty());

    let call = roost.call(Method::DELETE, "/v1/users/me").token(&tokens[0]);
    call.send().await.expect(204);
    assert_eq!(found(&reader, &base).await, expected[..5]);
}

#[tokio::test]
async fn a_search_finds_twenty_people_at_most() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;
    let base = format!("{:_<10.8}", roost.unused_handle("sM"));
    let handles: Vec<String> = (10..31).map(|n| format!("{base}{n}")).collect();
    for handle in &handles {
        sign_up(&roost, handle).await;
    }

    eventually_finds(&reader, &base, &handles[..20]).await;
    eventually_finds(&reader, &format!("{base}3"), &handles[20..]).await;
}

#[tokio::test]
async fn what_cannot_begin_a_handle_cannot_be_looked_for() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;

    for bad in [
        "",
        "a",
        "%20%20",
        "a-b",
        "%C3%A4%C3%A4",
        "@ada",
        "sixteen_letters_",
    ] {
        search(&reader, bad).await.expect_problem(400);
    }
    reader.get("/v1/users/search").await.expect_problem(400);
}

#[tokio::test]
async fn people_who_signed_up_before_there_was_an_index_are_found_after_a_reconciliation() {
    let Some((cloud, tables, _)) = roost_tests::LocalCloud::with_stores(&[]).await else {
        return;
    };
    let roost = cloud.client();
    let [reader, ada] = roost.sign_up_each(["reader", "early"]).await;
    eventually_finds(&reader, "early", std::slice::from_ref(&ada.handle)).await;
    tables.forget_handle_group(&ada.handle).await;
    assert_eq!(found(&reader, "early").await, [""; 0]);

    for _ in 0..2 {
        let job: Value = events::scheduled();
        let invoked = roost.invoke("reconcile-counts", &job).await;
        invoked.expect("a local cloud");
        eventually_finds(&reader, "early", std::slice::from_ref(&ada.handle)).await;
    }
}
