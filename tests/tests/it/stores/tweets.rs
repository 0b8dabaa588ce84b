use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use shared::domain::{Entry, Tweet, TweetId, TweetText, UserId};
use shared::platform::now_millis;
use shared::stores::tweets::{NEWEST, OLDEST, Stored};

use super::{Stores, someone, tweet_at};

fn tweet(author: UserId, text: &str, n: u64) -> Tweet {
    let text = TweetText::parse(text).expect("a text");
    Tweet::new(tweet_at(now_millis(), n), author, text)
}

async fn stored(stores: &Stores, author: UserId) -> Vec<TweetId> {
    let tweets = stores.tweets();
    let entries = tweets.newest_entries(author, OLDEST, NEWEST, 100).await;
    entries
        .expect("the table answers")
        .iter()
        .map(|entry| entry.tweet)
        .collect()
}

#[tokio::test]
async fn a_key_that_is_used_many_times_at_once_stores_one_tweet() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (author, keys) = (someone(), stores.idempotency_keys());
    let attempts: Vec<Tweet> = (0..20).map(|n| tweet(author, "once", n)).collect();
    let answers = join_all(attempts.iter().map(|tweet| keys.store_once(tweet, "key"))).await;

    let kept = stored(&stores, author).await;
    assert_eq!(kept.len(), 1, "{} tweets for one key", kept.len());
    let mut new = 0;
    for (attempt, answer) in attempts.iter().zip(answers) {
        match answer.expect("an answer") {
            Stored::New => {
                new += 1;
                assert_eq!([attempt.id], kept[..]);
            }
            Stored::Before(before) => assert_eq!([before.id], kept[..]),
            // Two met, and this one has to try again.
            Stored::Refused => {}
            Stored::KeyReused => panic!("the text is the same"),
        }
    }
    assert_eq!(new, 1);
}

#[tokio::test]
async fn a_key_remembers_its_tweet_and_belongs_to_its_author() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (ada, bob, keys) = (someone(), someone(), stores.idempotency_keys());
    let first = tweet(ada, "first", 0);
    let answer = keys.store_once(&first, "key").await.expect("an answer");
    assert!(matches!(answer, Stored::New));

    let other_text = tweet(ada, "second", 1);
    let answer = keys.store_once(&other_text, "key").await;
    assert!(matches!(answer, Ok(Stored::KeyReused)));
    let same_text = tweet(ada, "first", 2);
    let answer = keys.store_once(&same_text, "key").await;
    let Stored::Before(before) = answer.expect("an answer") else {
        panic!("the key was forgotten");
    };
    assert_eq!(before, first);
    for (author, key) in [(bob, "key"), (ada, "other")] {
        let answer = keys.store_once(&tweet(author, "mine", 2), key).await;
        assert!(matches!(answer.expect("an answer"), Stored::New));
    }
    assert_eq!(stored(&stores, ada).await.len(), 2);
    assert_eq!(stored(&stores, bob).await.len(), 1);
}

#[tokio::test]
async fn a_tweet_is_never_written_over_another_one() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (author, tweets) = (someone(), stores.tweets());
    let keys = stores.idempotency_keys();
    let first = tweet(author, "first", 0);
    assert!(matches!(tweets.store(&first).await, Ok(Stored::New)));

    let mut second = tweet(author, "second", 1);
    second.id = first.id;
    assert!(matches!(tweets.store(&second).await, Ok(Stored::Refused)));
    let answer = keys.store_once(&second, "key").await;
    assert!(matches!(answer, Ok(Stored::Refused)));

    let entry = Entry::new(first.id, author);
    let kept = tweets.find(entry).await.expect("the table answers");
    assert_eq!(kept, Some(first));
    // The refusal did not use the key up.
    second.id = tweet_at(now_millis(), 2);
    assert!(matches!(
        keys.store_once(&second, "key").await,
        Ok(Stored::New)
    ));
    assert!(tweets.delete(entry).await.expect("the table answers"));
    assert!(!tweets.delete(entry).await.expect("the table answers"));
    assert_eq!(stored(&stores, author).await, [second.id]);
}

#[tokio::test]
async fn a_key_that_the_same_attempt_stored_before_counts_as_new() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (author, keys) = (someone(), stores.idempotency_keys());
    let tweet = tweet(author, "once", 0);
    // The second time is a retry whose token DynamoDB has forgotten.
    for _ in 0..2 {
        let answer = keys.store_once(&tweet, "key").await.expect("an answer");
        assert!(matches!(answer, Stored::New), "the author would not see it");
    }
    assert_eq!(stored(&stores, author).await, [tweet.id]);
}

#[tokio::test]
async fn a_key_that_has_expired_says_nothing() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (author, keys) = (someone(), stores.idempotency_keys());
    let (old, taken) = (tweet(author, "same", 0), tweet(author, "another", 1));
    for (tweet, key) in [(&old, "key"), (&taken, "other")] {
        let answer = keys.store_once(tweet, key).await.expect("an answer");
        assert!(matches!(answer, Stored::New));
    }
    // DynamoDB removes expired items late.
    let expire = stores
        .roost
        .aws
        .dynamodb()
        .update_item()
        .table_name(stores.roost.config.ledger_table().expect("a table"))
        .key("pk", AttributeValue::S(format!("idem#{author}#key")))
        .update_expression("SET expires_at = :past")
        .expression_attribute_values(":past", AttributeValue::N("1".to_owned()))
        .send()
        .await;
    expire.expect("the key can be changed");

    // It is refused because its id is in use, and not because of the key.
    let mut new = tweet(author, "same", 2);
    new.id = taken.id;
    let answer = keys.store_once(&new, "key").await.expect("an answer");
    assert!(
        matches!(answer, Stored::Refused),
        "an old tweet is taken for the new one"
    );
    new.id = tweet_at(now_millis(), 3);
    let answer = keys.store_once(&new, "key").await.expect("an answer");
    assert!(matches!(answer, Stored::New));
}

#[tokio::test]
async fn the_oldest_tweets_above_an_id_are_read_to_the_end_however_long_they_are() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    // DynamoDB ends a page after a megabyte, long texts included, although only ids are asked for.
    let (author, first) = (someone(), now_millis());
    let ids: Vec<TweetId> = (0..100).map(|n| tweet_at(first + n, 0)).collect();
    let (dynamodb, config) = (stores.roost.aws.dynamodb(), &stores.roost.config);
    let puts = ids.iter().map(|id| {
        dynamodb
            .put_item()
            .table_name(config.tweets_table().expect("a table"))
            .item("author_id", AttributeValue::N(author.to_string()))
            .item("tweet_id", AttributeValue::N(id.to_string()))
            .item("text", AttributeValue::S("long ".repeat(4_000)))
            .send()
    });
    for put in join_all(puts).await {
        put.expect("a tweet of 20 KB can be stored");
    }

    let above = TweetId::new(ids[4].get());
    let read = stores.tweets().oldest_entries(author, above, 90).await;
    let read: Vec<TweetId> = read
        .expect("the table answers")
        .iter()
        .map(|entry| entry.tweet)
        .collect();
    assert_eq!(read.len(), 90, "the rest of the page is missing");
    assert_eq!(read, ids[5..95]);
}
