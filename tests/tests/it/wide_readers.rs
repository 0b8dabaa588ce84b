//! Somebody who follows as many people as one may.

use std::time::Duration;

use roost_tests::{LocalCloud, eventually, keys, stretched};
use shared::platform::now_millis;

use crate::stores::{someone, tweet_at};

/// The default of the template's parameter `FollowLimit`.
const FOLLOW_LIMIT: u64 = 5_000;
/// More than a list keeps.
const TWEETS: u64 = 1_000;

#[tokio::test]
async fn a_reader_of_five_thousand_people_gets_a_list_in_the_end() {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let reader = cloud.client().sign_up("reader").await;
    let authors: Vec<u64> = (0..FOLLOW_LIMIT).map(|_| someone().get()).collect();
    tables.add_profiles(&authors).await;
    let edges: Vec<(u64, u64)> = authors.iter().map(|author| (reader.id, *author)).collect();
    tables.add_following_only(&edges).await;
    // The authors of the tweets are spread over all whom the reader follows.
    let newest = now_millis() - 60_000;
    let tweets: Vec<(u64, u64)> = (0..TWEETS)
        .map(|n| {
            let author = authors[(n * 7 % FOLLOW_LIMIT) as usize];
            (author, tweet_at(newest - n * 1_000, 0).get())
        })
        .collect();
    tables.add_tweets(&tweets).await;
    let expected: Vec<u64> = tweets.iter().map(|(_, tweet)| *tweet).collect();

    // Nobody waits for five thousand queries: the first pages may say that they are incomplete.
    reader.home(20, None).await;

    let list = keys::home_timeline(reader.id);
    let within = stretched(Duration::from_secs(120));
    eventually(within, "the list is whole", || async {
        let page = reader.home(20, None).await;
        let kept: usize = cache.ask(&["LLEN", &list]).await;
        // The filling begins with the last entry of the first page, so the list may be one short of its cap.
        if !page.meta.complete || kept < 799 {
            return Err(format!("{kept} entries, {:?}", page.meta));
        }
        assert_eq!(
            page.data.iter().map(|tweet| tweet.id).collect::<Vec<_>>(),
            expected[..20]
        );
        Ok(())
    })
    .await;
}
