use std::collections::BTreeSet;

use futures_util::future::join_all;
use roost_tests::in_parallel;
use shared::domain::{Entry, Tweet, TweetId, TweetText, UserId};
use shared::flows::table_merge::TableMerge;
use shared::platform::now_millis;
use shared::stores::tweets::{NEWEST, Stored};

use super::{Stores, WEEK_MS, assert_same, someone, sorted};

/// Tweets of these authors, at times that are often the same; some authors have many and some none.
async fn given_tweets(stores: &Stores, authors: &[UserId]) -> Vec<Entry> {
    let start = TweetId::first_at(now_millis() - WEEK_MS).get();
    let mut ids = BTreeSet::new();
    let mut entries = Vec::new();
    for author in authors {
        for _ in 0..[0, 1, 5, 30][fastrand::usize(..4)] {
            let id = start + fastrand::u64(..200);
            if ids.insert(id) {
                entries.push(Entry::new(TweetId::new(id), *author));
            }
        }
    }
    let tweets = stores.tweets();
    let store = async |entry: &Entry| {
        let text = TweetText::parse("hello").expect("a text");
        let tweet = Tweet::new(entry.tweet, entry.author, text);
        assert!(matches!(tweets.store(&tweet).await, Ok(Stored::New)));
    };
    in_parallel(8, entries.iter().map(store)).await;
    sorted(&[&entries])
}

#[tokio::test]
async fn a_merge_of_the_tables_is_what_brute_force_finds() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let case = async |number: u64| {
        let authors: Vec<UserId> = (0..fastrand::usize(0..8)).map(|_| someone()).collect();
        let all = given_tweets(&stores, &authors).await;
        // From the top, from a tweet that there is, and from below everything.
        let mut starts = vec![NEWEST];
        starts.extend(all.first().map(|entry| entry.tweet));
        starts.extend(all.get(all.len() / 2).map(|entry| entry.tweet));
        starts.extend(all.last().map(|entry| entry.tweet));
        for below in starts {
            let expected: Vec<Entry> = all
                .iter()
                .filter(|entry| entry.tweet < below)
                .copied()
                .collect();
            let wanted = fastrand::usize(1..40);
            let mut merge = TableMerge::new(stores.tweets(), authors.clone(), below, wanted);
            let mut taken = Vec::new();
            loop {
                let count = fastrand::usize(1..20);
                let part = merge.take(count).await.expect("the table answers");
                assert!(part.len() <= count);
                taken.extend_from_slice(&part);
                // Only at the very end there is less than was asked for.
                if part.len() < count {
                    break;
                }
            }
            println!("case {number}, below {below}");
            assert_same(&taken, &expected);
            assert!(merge.is_exhausted());
        }
    };
    join_all((0..6).map(case)).await;
}
