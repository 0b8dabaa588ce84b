//! Tweets of celebrities are pulled, those of everybody else are pushed, and no reader can tell which. An author flips once
//! per epoch, and epochs only grow (I10).

mod counting;
mod evictions;
mod flips;
mod round_trips;

use std::time::Duration;

use roost_tests::events::{Flip, caught_flips};
use roost_tests::{
    Cache, Client, LocalCloud, PATIENCE, Tables, Tweet, User, eventually, expect_equal,
    expect_followers, expect_oracle, expect_tier, expect_timeline, ids, in_parallel, keys,
    throughout,
};

/// How long a tweet of a celebrity may take: readers keep a feed in memory for a second.
const VISIBLE_WITHIN: Duration = Duration::from_secs(2);

const PROMOTED: Flip = Flip {
    epoch: 1,
    is_celebrity: true,
};
const DEMOTED: Flip = Flip {
    epoch: 2,
    is_celebrity: false,
};

/// A local cloud where so many followers make a celebrity, without a dwell time.
async fn cloud(threshold: &str, page_size: &str) -> Option<(LocalCloud, Tables, Cache)> {
    LocalCloud::with_stores(&[
        ("CELEBRITY_THRESHOLD", threshold),
        ("TIER_DWELL_SECONDS", "0"),
        ("FAN_OUT_PAGE_SIZE", page_size),
        ("RECONCILE_SAMPLE", "1000"),
    ])
    .await
}

/// Waits until the flip is over and every follower has been told.
async fn expect_settled(tables: &Tables, user: &User, tier: &str, epoch: u64) {
    expect_tier(tables, user, tier, epoch, PATIENCE).await;
}

fn of<'a>(page: &'a [Tweet], author: &User) -> Vec<&'a Tweet> {
    page.iter()
        .filter(|tweet| tweet.author_id == author.id)
        .collect()
}

#[tokio::test]
async fn a_celebritys_tweet_costs_one_write_and_reaches_every_follower() {
    let Some((cloud, tables, cache)) = cloud("50", "7").await else {
        return;
    };
    let roost = cloud.client();
    let star = roost.sign_up("star").await;
    let normal = roost.sign_up_many("plain", 2).await;
    let followers = roost.sign_up_many("fan", 60).await;
    in_parallel(
        8,
        followers.iter().map(|fan| async {
            fan.newest().await;
            for author in normal.iter().chain([&star]) {
                fan.follow(author).await;
            }
        }),
    )
    .await;
    let takes_turns = || async {
        for n in 0..4 {
            star.post(&format!("of the star, {n}")).await;
            normal[n % 2].post(&format!("of somebody, {n}")).await;
        }
    };
    takes_turns().await;
    expect_settled(&tables, &star, "celebrity", 1).await;
    takes_turns().await;
    expect_oracle(&tables, &followers, 100, PATIENCE).await;

    let lengths = || async {
        let lists = followers.iter().map(|fan| keys::home_timeline(fan.id));
        in_parallel(
            1,
            lists.map(|list| {
                let cache = cache.clone();
                async move { cache.ask::<usize>(&["LLEN", &list]).await }
            }),
        )
        .await
    };
    let (lengths_before, feed_before) = (lengths().await, cache.feed(star.id).await);
    assert!(
        lengths_before.iter().all(|length| *length > 0),
        "everybody has a list"
    );

    let tweet = star.post("one write").await;

    in_parallel(
        8,
        followers.iter().map(|fan| {
            let tweet = &tweet;
            async move {
                eventually(VISIBLE_WITHIN, "a follower sees it on top", || async {
                    let top = fan.newest().await.data.into_iter().next();
                    expect_equal("newest", top.map(|top| top.id), Some(tweet.id))
                })
                .await;
            }
        }),
    )
    .await;
    assert_eq!(
        cache.feed(star.id).await,
        [vec![tweet.id], feed_before].concat(),
        "the feed has one more"
    );
    assert_eq!(
        lengths().await,
        lengths_before,
        "a follower's list grew for a celebrity's tweet"
    );
    assert_eq!(cloud.deliveries(tweet.id), [], "it was fanned out as well");

    // In the right place among what is pushed, in pages of any size.
    takes_turns().await;
    expect_oracle(&tables, &followers, 100, PATIENCE).await;
    for limit in [1, 3, 7] {
        expect_oracle(&tables, &followers[..3], limit, VISIBLE_WITHIN).await;
    }
    assert_eq!(caught_flips(roost.target(), star.id).await, [PROMOTED]);
}

#[tokio::test]
async fn swaying_between_49_and_51_followers_flips_once() {
    let Some((cloud, tables, _)) = cloud("50", "100").await else {
        return;
    };
    let roost = cloud.client();
    let star = roost.sign_up("star").await;
    let people = roost.sign_up_many("fan", 51).await;
    let (faithful, fickle) = people.split_at(49);
    in_parallel(8, faithful.iter().map(|fan| fan.follow(&star))).await;
    expect_followers(&star, 49).await;
    assert_eq!(
        tables.tier_of(star.id).await,
        None,
        "49 followers make no celebrity"
    );

    for _ in 0..12 {
        in_parallel(2, fickle.iter().map(|fan| fan.follow(&star))).await;
        expect_followers(&star, 51).await;
        in_parallel(2, fickle.iter().map(|fan| fan.unfollow(&star))).await;
        expect_followers(&star, 49).await;
    }

    expect_settled(&tables, &star, "celebrity", 1).await;
    assert_eq!(caught_flips(roost.target(), star.id).await, [PROMOTED]);
}

/// Ten celebrities with three tweets each, newest first.
async fn ten_celebrities(roost: &Client, tables: &Tables) -> (Vec<User>, Vec<Tweet>) {
    let celebrities = roost.sign_up_many("star", 10).await;
    let fans = roost.sign_up_many("fan", 3).await;
    let pairs = celebrities
        .iter()
        .flat_map(|star| fans.iter().map(move |fan| (fan, star)));
    in_parallel(8, pairs.map(|(fan, star)| fan.follow(star))).await;
    let posted = in_parallel(4, celebrities.iter().map(|star| star.post_many(3, 1))).await;
    for star in &celebrities {
        expect_settled(tables, star, "celebrity", 1).await;
    }
    (celebrities, roost_tests::newest_first(posted.concat()))
}

#[tokio::test]
async fn a_new_user_who_follows_ten_celebrities_sees_them_on_the_first_read_and_an_unfollowed_one_vanishes_at_once()
 {
    let Some((cloud, tables, _)) = cloud("3", "7").await else {
        return;
    };
    let roost = cloud.client();
    let (celebrities, expected) = ten_celebrities(roost, &tables).await;
    // One has a timeline already, so that a follow has to be applied to it.
    let [newcomer, reader] = roost.sign_up_each(["new", "reader"]).await;
    reader.newest().await;
    for follower in [&newcomer, &reader] {
        in_parallel(8, celebrities.iter().map(|star| follower.follow(star))).await;
    }

    assert_eq!(
        newcomer.home(100, None).await.data,
        expected,
        "the first read of somebody new"
    );
    eventually(PATIENCE, "follows are applied", || async {
        expect_timeline(&reader.home(100, None).await.data, &ids(&expected))
    })
    .await;

    let gone = &celebrities[3];
    for follower in [&newcomer, &reader] {
        follower.unfollow(gone).await;
        let page = follower.home(100, None).await.data;
        assert_eq!(of(&page, gone), Vec::<&Tweet>::new(), "right after the 204");
        assert_eq!(page.len(), 27, "the others are still there");
    }
    gone.post("not for you").await;
    throughout(
        Duration::from_millis(1_500),
        "the celebrity stays away",
        || async {
            for follower in [&newcomer, &reader] {
                if !of(&follower.home(100, None).await.data, gone).is_empty() {
                    return Err(format!("{} sees {}", follower.handle, gone.handle));
                }
            }
            Ok(())
        },
    )
    .await;

    newcomer.follow(gone).await;
    expect_oracle(&tables, [&newcomer, &reader], 7, PATIENCE).await;
}
