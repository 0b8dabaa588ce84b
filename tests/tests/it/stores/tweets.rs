use futures_util::future::join_all;
use shared::domain::{Entry, Tweet, TweetId, TweetText, UserId};
use shared::platform::now_millis;
use shared::stores::tweets::{NEWEST, OLDEST, Stored};

use super::{Stores, someone, tweet_at};

fn tweet(author: UserId, text: &str, n: u64) -> Tweet {
    let text = TweetText::parse(text.to_owned()).expect("a text");
    Tweet::new(tweet_at(now_millis(), n), author, text)
}

async fn stored(stores: &Stores, author: UserId) -> Vec<TweetId> {
    let tweets = stores.tweets().newest(author, OLDEST, NEWEST, 100).await;
    tweets
        .expect("the table answers")
        .iter()
        .map(|tweet| tweet.id)
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
