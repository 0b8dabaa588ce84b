//! A write can be applied although its answer is lost. The SDK then asks again, and must not make two of one (I9).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roost_tests::{Client, DynamoProxy, Function, body_of, events};
use serde_json::json;
use shared::domain::UserId;

use crate::isolated_stack::IsolatedStack;
use crate::stores::someone;

#[tokio::test]
async fn a_post_whose_first_answer_was_lost_stores_one_tweet_and_shows_it() {
    let Some(stack) = IsolatedStack::beside(Client::shared().await).await else {
        return;
    };
    // The first write to the table of tweets is carried out, and nobody hears of it.
    let armed = Arc::new(AtomicBool::new(false));
    let lost = Arc::clone(&armed);
    let dynamodb = DynamoProxy::losing_answers(
        &stack.environment["AWS_ENDPOINT_URL_DYNAMODB"],
        move |asked| is_write_of_a_tweet(asked) && lost.swap(false, Ordering::Relaxed),
    );
    let changed = [("AWS_ENDPOINT_URL_DYNAMODB", dynamodb.url.as_str())];
    let post_tweet = Function::start_in(stack.environment.clone(), "post-tweet", &changed);

    for key in [None, Some("a key")] {
        let me = someone();
        let subject = format!("test|lost|{me}");
        stack.tables.add_profiles(&[me.get()]).await;
        stack
            .tables
            .add_subjects(&[(subject.clone(), me.get())])
            .await;
        stack.stores.given_list(me, &[], true).await;

        let body = json!({ "text": "once" });
        let mut request = events::http("POST", "/v1/tweets", &subject, Some(&body));
        if let Some(key) = key {
            request["headers"]["idempotency-key"] = json!(key);
        }
        dynamodb.take();
        armed.store(true, Ordering::Relaxed);
        let answer = body_of(&post_tweet.invoke(request), 201);

        let asked = dynamodb.take();
        let writes = asked.iter().filter(|asked| is_write_of_a_tweet(asked));
        assert!(writes.count() > 1, "nothing was asked again: {asked:#?}");
        let id = answer["id"].as_str().unwrap_or_default();
        let stored = stack.tables.tweets_of(me.get()).await;
        let stored: Vec<String> = stored.iter().map(u64::to_string).collect();
        assert_eq!(stored, [id], "key: {key:?}");
        let shown = shown_to(&stack, me).await;
        assert_eq!(shown, [id], "the author does not see it, key: {key:?}");
    }
}

fn is_write_of_a_tweet(asked: &str) -> bool {
    let puts = asked.starts_with("PutItem") && asked.contains("-tweets\"");
    puts || asked.starts_with("TransactWriteItems")
}

async fn shown_to(stack: &IsolatedStack, user: UserId) -> Vec<String> {
    let list = stack.stores.list(user).await.into_iter();
    let tweets = list.filter(|entry| entry.tweet.get() > 0);
    tweets.map(|entry| entry.tweet.to_string()).collect()
}
