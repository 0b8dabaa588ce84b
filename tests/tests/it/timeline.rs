//! Reading the home timeline as one reader does: nothing is missing (I1) or there twice (I2), nothing unfollowed or deleted
//! is shown (I3), and everything is in order (I5).

use std::cell::RefCell;
use std::time::{Duration, Instant};

use roost_tests::{
    Answer, Client, Method, PATIENCE, Target, Tweet, User, eventually, expect_oracle,
    expect_timeline, ids, in_parallel, newest_first, throughout,
};

/// How fast a follower who reads has to see a tweet on a local cloud, in the median.
const DELIVERY_MEDIAN: Duration = Duration::from_millis(500);

/// For this long, nothing of the author is on the reader's first page.
async fn expect_hidden(reader: &User, author: &User, time: Duration) {
    throughout(time, "the author stays hidden", || async {
        let page = reader.newest().await.data;
        match page.iter().find(|tweet| tweet.author_id == author.id) {
            Some(tweet) => Err(format!("{} of {} is shown", tweet.id, author.handle)),
            None => Ok(()),
        }
    })
    .await;
}

#[track_caller]
fn assert_timeline(actual: &[Tweet], expected: &[Tweet]) {
    if let Err(complaint) = expect_timeline(actual, &ids(expected)) {
        panic!("{complaint}");
    }
}

#[tokio::test]
async fn the_timeline_of_somebody_new_is_empty_and_complete() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;

    // Built on the first read, then read from the cache.
    for _ in 0..2 {
        let page = ada.get("/v1/home_timeline").await.expect(200).json();
        assert_eq!(page["data"], serde_json::json!([]));
        assert_eq!(page["includes"]["users"], serde_json::json!([]));
        assert_eq!(page["meta"]["result_count"], 0);
        assert_eq!(page["meta"]["complete"], true);
        assert!(page["meta"]["next_cursor"].is_null(), "{page}");
    }
}

#[tokio::test]
async fn a_follower_sees_a_tweet() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    bob.follow(&ada).await;
    for reader in [&bob, &eve] {
        reader.newest().await;
    }

    let tweet = ada.post("hello").await;

    bob.eventually_sees(&[tweet.id]).await;
    assert_eq!(bob.newest().await.data, [tweet]);
    assert_eq!(
        eve.newest().await.data,
        [],
        "somebody who does not follow sees it"
    );
}

#[tokio::test]
async fn a_follower_who_never_read_sees_what_was_posted_before() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    let posted = ada.post_many(3, 1).await;

    // No waiting: a list that does not exist yet is built from the tables, consistently.
    assert_eq!(bob.newest().await.data, posted);
}

#[tokio::test]
async fn ones_own_tweet_is_there_at_once_when_the_timeline_exists() {
    let roost = Client::shared().await;
    let ada = roost.sign_up("ada").await;
    ada.newest().await;

    for n in 0..20 {
        let tweet = ada.post(&format!("number {n}")).await;
        assert_eq!(
            ada.newest().await.data.first(),
            Some(&tweet),
            "tweet {n} is not on top of the first read"
        );
    }
}

#[tokio::test]
async fn ones_own_tweet_is_there_at_once_when_there_is_no_timeline_yet() {
    let roost = Client::shared().await;

    for (n, user) in roost.sign_up_many("new", 20).await.iter().enumerate() {
        let tweet = user.post("my first").await;
        assert_eq!(
            user.newest().await.data,
            [tweet],
            "the first tweet of user {n} is not in their first read"
        );
    }
}

#[tokio::test]
async fn a_tweet_reaches_a_reading_follower_fast() {
    if Target::is_remote() {
        return roost_tests::skip("how fast a deployment is depends on where it is called from");
    }
    let roost = Client::alone().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    let warm_up = ada.post("warm up").await;
    bob.eventually_sees(&[warm_up.id]).await;

    let mut times = Vec::new();
    for n in 0..20 {
        let tweet = ada.post(&format!("number {n}")).await;
        let posted = Instant::now();
        while !bob.home(5, None).await.has(&tweet) {
            assert!(posted.elapsed() < PATIENCE, "tweet {n} never arrived");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        times.push(posted.elapsed());
    }

    times.sort_unstable();
    let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
    println!(
        "from the 201 to a follower's read: median {median:?}, slowest {slowest:?} of {}",
        times.len()
    );
    assert!(median < DELIVERY_MEDIAN, "median {median:?}");
}

#[tokio::test]
async fn an_unfollowed_author_is_hidden_at_once_and_for_good() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    bob.follow(&ada).await;
    bob.follow(&eve).await;
    let mut kept = eve.post_many(3, 1).await;
    let hidden = ada.post_many(5, 1).await;
    bob.eventually_sees(&ids(&newest_first([kept.clone(), hidden].concat())))
        .await;

    bob.unfollow(&ada).await;

    assert_timeline(&bob.walk(2).await, &kept);
    ada.post_many(3, 1).await;
    kept.insert(0, eve.post("still here").await);
    expect_hidden(&bob, &ada, Duration::from_secs(2)).await;
    bob.eventually_sees(&ids(&kept)).await;
}

#[tokio::test]
async fn a_tweet_on_its_way_does_not_arrive_after_an_unfollow() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.newest().await;

    for _ in 0..6 {
        bob.follow(&ada).await;
        ada.post("on its way").await;
        bob.unfollow(&ada).await;
        expect_hidden(&bob, &ada, Duration::from_millis(400)).await;
    }
}

#[tokio::test]
async fn following_again_brings_everything_back() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    let before = ada.post_many(4, 1).await;
    bob.eventually_sees(&ids(&before)).await;
    bob.unfollow(&ada).await;
    assert_eq!(bob.newest().await.data, []);
    let meanwhile = ada.post_many(2, 1).await;

    bob.follow(&ada).await;

    let mut expected = [meanwhile, before].concat();
    bob.eventually_sees(&ids(&expected)).await;
    expected.insert(0, ada.post("and on").await);
    bob.eventually_sees(&ids(&expected)).await;
}

#[tokio::test]
async fn following_and_unfollowing_in_quick_succession_ends_as_the_last_one_says() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let posted = ada.post_many(3, 1).await;
    bob.newest().await;

    for _ in 0..5 {
        bob.follow(&ada).await;
        bob.unfollow(&ada).await;
    }
    expect_hidden(&bob, &ada, Duration::from_secs(1)).await;

    bob.follow(&ada).await;
    bob.eventually_sees(&ids(&posted)).await;
    throughout(Duration::from_secs(1), "the author stays", || async {
        expect_timeline(&bob.newest().await.data, &ids(&posted))
    })
    .await;
}

#[tokio::test]
async fn a_deleted_tweet_is_hidden_at_once() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    let mut posted = ada.post_many(6, 1).await;
    bob.eventually_sees(&ids(&posted)).await;
    ada.newest().await;

    for position in [0, 2, 3] {
        let deleted = posted.remove(position);
        ada.delete(&deleted).await;
        assert_eq!(
            bob.newest().await.data,
            posted,
            "a follower's first read after the 204"
        );
        assert_eq!(
            ada.newest().await.data,
            posted,
            "the author's first read after the 204"
        );
    }
}

#[tokio::test]
async fn a_tweet_deleted_on_its_way_never_shows_up() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    bob.newest().await;

    for _ in 0..6 {
        let tweet = ada.post("a mistake").await;
        ada.delete(&tweet).await;
        throughout(
            Duration::from_millis(400),
            "the deleted tweet stays hidden",
            || async {
                if bob.newest().await.has(&tweet) {
                    Err(format!("{} is shown", tweet.id))
                } else {
                    Ok(())
                }
            },
        )
        .await;
    }
}

#[tokio::test]
async fn a_follow_brings_older_tweets_into_an_existing_timeline() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    bob.follow(&eve).await;
    let mut posted = Vec::new();
    for _ in 0..5 {
        posted.push(ada.post("older").await);
        posted.push(eve.post("there already").await);
    }
    let of_eve = newest_first(
        posted
            .iter()
            .filter(|tweet| tweet.author_id == eve.id)
            .cloned()
            .collect(),
    );
    bob.eventually_sees(&ids(&of_eve)).await;

    bob.follow(&ada).await;

    let expected = newest_first(posted);
    bob.eventually_sees(&ids(&expected)).await;
    assert_timeline(&bob.walk(3).await, &expected);
}

#[tokio::test]
async fn a_page_names_each_of_its_authors_once() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;
    let authors = roost.sign_up_many("autho", 3).await;
    in_parallel(3, authors.iter().map(|author| reader.follow(author))).await;
    let mut posted = Vec::new();
    for n in 0..9 {
        posted.push(authors[n % 3].post(&format!("number {n}")).await);
    }
    reader.eventually_sees(&ids(&newest_first(posted))).await;

    // Every page that a test reads is checked for more: includes.users are its authors, newest_id and oldest_id its ends.
    let page = reader.home(4, None).await;
    assert_eq!(page.includes.users.len(), 3);
    for user in &page.includes.users {
        let author = authors
            .iter()
            .find(|author| author.id == user.id)
            .expect("one of the authors");
        assert_eq!(user.handle, author.handle);
    }
    let page = reader.home(1, page.meta.next_cursor.as_deref()).await;
    assert_eq!(page.includes.users.len(), 1);
}

#[tokio::test]
async fn a_walk_in_small_pages_meets_every_tweet_once_also_while_new_ones_arrive() {
    let roost = Client::shared().await;
    let reader = roost.sign_up("reader").await;
    let authors = roost.sign_up_many("autho", 5).await;
    in_parallel(5, authors.iter().map(|author| reader.follow(author))).await;
    reader.newest().await;
    let posted = in_parallel(5, authors.iter().map(|author| author.post_many(120, 2)))
        .await
        .concat();
    let expected = newest_first(posted);
    assert_eq!(expected.len(), 600);
    reader.eventually_sees(&ids(&expected)).await;

    assert_timeline(&reader.walk(7).await, &expected);

    let mut met = Vec::new();
    let mut newer = Vec::new();
    let mut walk = reader.walking(7);
    while let Some(page) = walk.next().await {
        met.extend(
            page.expect("a page of a timeline whose older part is at rest")
                .data,
        );
        if newer.len() < 60 {
            newer.push(authors[newer.len() % authors.len()].post("meanwhile").await);
        }
    }
    assert_timeline(&met, &expected);
    reader
        .eventually_sees(&ids(&[newest_first(newer), expected].concat()))
        .await;
}

#[tokio::test]
async fn pages_stay_full_although_many_tweets_were_deleted() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    for author in [&ada, &eve] {
        bob.follow(author).await;
    }
    bob.newest().await;
    let older = eve.post_many(20, 4).await;
    let deleted = ada.post_many(130, 4).await;
    let newer = eve.post_many(10, 4).await;
    bob.eventually_sees(&ids(
        &[newer.clone(), deleted.clone(), older.clone()].concat()
    ))
    .await;

    // All but every thirteenth of those in the middle.
    let kept: Vec<_> = deleted.iter().step_by(13).cloned().collect();
    in_parallel(
        4,
        deleted
            .iter()
            .filter(|tweet| !kept.contains(tweet))
            .map(|tweet| ada.delete(tweet)),
    )
    .await;

    // A walk complains of a page that is short before the end.
    let expected = [newer, kept, older].concat();
    for limit in [7, 20, 100] {
        assert_timeline(&bob.walk(limit).await, &expected);
    }
}

#[tokio::test]
async fn a_timeline_longer_than_the_cache_keeps_leads_to_the_very_first_tweet() {
    let roost = Client::shared().await;
    let [ada, bob, late] = roost.sign_up_each(["ada", "bob", "late"]).await;
    bob.follow(&ada).await;
    bob.newest().await;
    let first = bob.post("the very first").await;
    let posted = ada.post_many(900, 8).await;
    let expected = [posted, vec![first.clone()]].concat();
    bob.eventually_sees(&ids(&expected)).await;
    assert_timeline(&bob.walk(33).await, &expected);

    // This list holds everything there is, which is nothing. Then it is given more than it can hold.
    late.newest().await;
    late.follow(&ada).await;
    late.eventually_sees(&ids(&expected[..900])).await;
}

/// The answer may be a refusal: somebody is blocked, or the tweet is gone.
#[track_caller]
fn expect_done_or_refused(answer: &Answer) {
    assert!(
        matches!(answer.status, 201 | 204 | 403 | 404),
        "{} answered {}: {}",
        answer.call,
        answer.status,
        answer.text()
    );
}

#[tokio::test]
async fn timelines_are_what_the_tables_say() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    let people = roost.sign_up_many("town", 8).await;
    // Half of them have a timeline from the start.
    for user in people.iter().step_by(2) {
        user.newest().await;
    }
    let mut random = fastrand::Rng::new();
    let seed = random.get_seed();
    let steps: Vec<_> = (0..220)
        .map(|_| (random.usize(0..19), random.usize(0..8), random.usize(0..7)))
        .collect();
    let posted: RefCell<Vec<Tweet>> = RefCell::default();

    in_parallel(
        6,
        steps.into_iter().map(|(action, user, distance)| {
            let other = &people[(user + 1 + distance) % 8];
            let (user, posted) = (&people[user], &posted);
            async move {
                // One of the last tweets, if there is any.
                let tweet = posted.borrow().iter().rev().nth(distance).cloned();
                match action {
                    0..4 => drop(user.follow_unless_blocked(other).await),
                    4 => user.unfollow(other).await,
                    5..9 => {
                        let tweet = user.post("something").await;
                        posted.borrow_mut().push(tweet);
                    }
                    9 => user.mute(other).await,
                    10 => user.unmute(other).await,
                    11 => user.block(other).await,
                    12 => user.unblock(other).await,
                    13 => {
                        let tweet = user.post("a mistake").await;
                        posted.borrow_mut().push(tweet.clone());
                        user.delete(&tweet).await;
                    }
                    _ => {
                        let Some(tweet) = tweet else { return };
                        let path = format!("/v1/tweets/{}/repost", tweet.id);
                        let answer = match action {
                            14..17 => user.call(Method::PUT, &path).send().await,
                            17 => user.call(Method::DELETE, &path).send().await,
                            _ => user.try_reply(tweet.id, "a reply").await,
                        };
                        expect_done_or_refused(&answer);
                    }
                }
            }
        }),
    )
    .await;

    println!("seed {seed}");
    expect_oracle(&tables, &people, 9, PATIENCE).await;
    eventually(PATIENCE, "counts are the number of edges", || {
        tables.expect_counted_edges(&people)
    })
    .await;
}
