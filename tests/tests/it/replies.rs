//! Replies: those to others are under their tweet and on no home timeline, a thread is delivered like any tweet, and both
//! are counted exactly.

use std::time::Duration;

use roost_tests::events::{StreamRecord, table_batch};
use roost_tests::{
    Client, LocalCloud, Method, PATIENCE, Tweet, User, eventually, expect_equal, expect_tier,
    expect_timeline, ids, in_parallel, keys, newest_first, throughout,
};
use tokio::sync::Notify;

/// Waits until these are the replies to a tweet, newest first, and so many are counted.
async fn expect_replies(reader: &User, tweet: &Tweet, expected: &[u64]) {
    eventually(PATIENCE, "the replies are listed and counted", || async {
        expect_timeline(&reader.replies_to(tweet, 100).await, expected)?;
        let count = reader.tweet(tweet.id).await.reply_count;
        expect_equal("reply_count", count, expected.len() as u64)
    })
    .await;
}

/// Now and for a while, the first page of this reader is this.
async fn expect_home(reader: &User, expected: &[u64]) {
    throughout(Duration::from_millis(500), "no reply is shown", || async {
        expect_timeline(&reader.newest().await.data, expected)
            .map_err(|complaint| format!("{}: {complaint}", reader.handle))
    })
    .await;
}

#[tokio::test]
async fn a_reply_to_somebody_else_is_on_no_home_timeline() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let [ada, bob, both] = roost.sign_up_each(["ada", "bob", "both"]).await;
    for followee in [&ada, &bob] {
        both.follow(followee).await;
    }
    bob.follow(&ada).await;
    for reader in [&ada, &bob, &both] {
        reader.newest().await;
    }
    let tweet = ada.post("what do you think?").await;

    let reply = bob.reply(&tweet, "a lot").await;

    // Not even on its author's, at once or later.
    let marker = bob.post("marker").await;
    for reader in [&bob, &both] {
        reader.eventually_sees(&[marker.id, tweet.id]).await;
        expect_home(reader, &[marker.id, tweet.id]).await;
    }
    expect_home(&ada, &[tweet.id]).await;
    // Neither from a list that was made anew nor from below a list that is too short.
    for loss in ["DEL", "LTRIM"] {
        for reader in [&bob, &both] {
            let list = keys::home_timeline(reader.id);
            if loss == "DEL" {
                let _: u64 = cache.ask(&["DEL", &list]).await;
            } else {
                let _: String = cache.ask(&["LTRIM", &list, "0", "0"]).await;
            }
            let walked = reader.walk(1).await;
            expect_timeline(&walked, &[marker.id, tweet.id]).expect("no reply");
            let path = format!("/v1/home_timeline/new?since={}", tweet.id - 1);
            let news = reader.get(&path).await.expect(200).json();
            assert_eq!(news["count"], 2, "{loss}: {news}");
        }
    }
    // Nor does a follow bring it.
    let late = roost.sign_up("late").await;
    late.newest().await;
    late.follow(&bob).await;
    late.eventually_sees(&[marker.id]).await;
    expect_home(&late, &[marker.id]).await;
    expect_replies(&both, &tweet, &[reply.id]).await;
}

#[tokio::test]
async fn a_celebritys_reply_to_somebody_else_is_not_pulled() {
    let two_make_a_celebrity = [("CELEBRITY_THRESHOLD", "2"), ("TIER_DWELL_SECONDS", "0")];
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&two_make_a_celebrity).await else {
        return;
    };
    let roost = cloud.client();
    let [ada, star, reader, other] = roost.sign_up_each(["ada", "star", "reade", "other"]).await;
    in_parallel(2, [&reader, &other].map(|fan| fan.follow(&star))).await;
    expect_tier(&tables, &star, "celebrity", 1, PATIENCE).await;
    let tweet = ada.post("what do you think?").await;
    let first = star.post("first").await;
    reader.eventually_sees(&[first.id]).await;

    let reply = star.reply(&tweet, "nothing").await;
    let thread = star.reply(&first, "and second").await;

    let expected = [thread.id, first.id];
    reader.eventually_sees(&expected).await;
    expect_home(&reader, &expected).await;
    cache.flush().await;
    expect_timeline(&reader.walk(1).await, &expected).expect("no reply after a flush");
    expect_replies(&reader, &tweet, &[reply.id]).await;
}

#[tokio::test]
async fn a_thread_is_delivered_like_any_tweet() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    bob.follow(&ada).await;
    for reader in [&ada, &bob] {
        reader.newest().await;
    }

    let first = ada.post("one").await;
    let second = ada.reply(&first, "two").await;
    // Read your writes.
    assert_eq!(ids(&ada.newest().await.data), [second.id, first.id]);
    let third = ada.reply(&second, "three").await;

    let thread = [third.id, second.id, first.id];
    for reader in [&ada, &bob] {
        reader.eventually_sees(&thread).await;
        let list = keys::home_timeline(reader.id);
        let _: u64 = cache.ask(&["DEL", &list]).await;
        expect_timeline(&reader.walk(2).await, &thread).expect("a thread in the tables");
    }
    let shown = bob.newest().await.data[1].in_reply_to.clone();
    let parent = shown.map(|parent| (parent.tweet_id, parent.author_id));
    assert_eq!(parent, Some((first.id, ada.id)));
    // On her page without asking for replies, and under the tweets.
    assert_eq!(ids(&ada.tweets(100).await), thread);
    expect_replies(&bob, &first, &[second.id]).await;
    expect_replies(&bob, &second, &[third.id]).await;
}

#[tokio::test]
async fn replies_are_on_the_authors_page_for_those_who_ask_for_them() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let tweet = ada.post("what do you think?").await;
    let (mut tweets, mut everything) = (Vec::new(), Vec::new());
    for n in 0..10 {
        let own = bob.post(&format!("number {n}")).await;
        everything.push(own.clone());
        tweets.push(own);
        everything.push(bob.reply(&tweet, &format!("a lot, {n}")).await);
        everything.push(bob.reply(&tweet, &format!("and more, {n}")).await);
    }
    let (tweets, everything) = (newest_first(tweets), newest_first(everything));

    for limit in [1, 3, 100] {
        assert_eq!(ids(&bob.tweets(limit).await), ids(&tweets));
        assert_eq!(ids(&bob.tweets_and_replies(limit).await), ids(&everything));
    }
}

#[tokio::test]
async fn a_deleted_reply_is_listed_and_counted_no_more() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let tweet = ada.post("what do you think?").await;
    let mut replies = Vec::new();
    for n in 0..4 {
        replies.insert(0, bob.reply(&tweet, &format!("number {n}")).await);
    }
    expect_replies(&eve, &tweet, &ids(&replies)).await;

    for position in [1, 0] {
        let deleted = replies.remove(position);
        bob.delete(&deleted).await;
        let left = eve.replies_to(&tweet, 2).await;
        expect_timeline(&left, &ids(&replies)).expect("gone with the answer");
        expect_replies(&eve, &tweet, &ids(&replies)).await;
    }
    // One that is deleted before anybody has counted it is not counted either.
    for _ in 0..4 {
        let deleted = bob.reply(&tweet, "a mistake").await;
        bob.delete(&deleted).await;
    }
    let last = bob.reply(&tweet, "the last").await;
    replies.insert(0, last);
    expect_replies(&eve, &tweet, &ids(&replies)).await;
    throughout(Duration::from_secs(1), "the count stays", || async {
        let count = eve.tweet(tweet.id).await.reply_count;
        expect_equal("reply_count", count, 3)
    })
    .await;
}

#[tokio::test]
async fn a_reply_stays_when_its_parent_is_deleted() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let tweet = ada.post("soon gone").await;
    let reply = bob.reply(&tweet, "why?").await;
    expect_replies(&eve, &tweet, &[reply.id]).await;

    ada.delete(&tweet).await;

    let path = format!("/v1/tweets/{}/replies", tweet.id);
    eve.get(&path).await.expect_problem(404);
    throughout(Duration::from_secs(1), "the reply stays", || async {
        let read = eve.tweet(reply.id).await;
        let parent = read.in_reply_to.map(|parent| parent.tweet_id);
        expect_equal("parent", parent, Some(tweet.id))?;
        let listed = ids(&bob.tweets_and_replies(100).await);
        expect_equal("page", listed, vec![reply.id])
    })
    .await;
    // It can be answered, and deleted, as before.
    let answer = eve.reply(&reply, "who knows").await;
    expect_replies(&ada, &reply, &[answer.id]).await;
    bob.delete(&reply).await;
    eve.get(&format!("/v1/tweets/{}", reply.id))
        .await
        .expect_problem(404);
    bob.try_reply(tweet.id, "still there?")
        .await
        .expect_problem(404);
}

#[tokio::test]
async fn neither_side_of_a_block_is_shown_the_others_replies() {
    let roost = Client::shared().await;
    let [ada, bob, eve, other] = roost.sign_up_each(["ada", "bob", "eve", "other"]).await;
    let tweet = ada.post("what do you think?").await;
    let of_bob = bob.reply(&tweet, "of bob").await;
    let of_eve = eve.reply(&tweet, "of eve").await;
    let everything = [of_eve.id, of_bob.id];
    expect_replies(&other, &tweet, &everything).await;

    bob.block(&eve).await;

    let seen = async |reader: &User| ids(&reader.replies_to(&tweet, 100).await);
    assert_eq!(seen(&bob).await, [of_bob.id]);
    assert_eq!(seen(&eve).await, [of_eve.id]);
    assert_eq!(seen(&other).await, everything);
    bob.unblock(&eve).await;
    for reader in [&bob, &eve] {
        assert_eq!(seen(reader).await, everything);
    }
}

#[tokio::test]
async fn a_deleted_account_leaves_no_reply_and_no_count() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let tweet = ada.post("what do you think?").await;
    let of_bob = bob.reply(&tweet, "of bob").await;
    let of_eve = eve.reply(&tweet, "of eve").await;
    expect_replies(&ada, &tweet, &[of_eve.id, of_bob.id]).await;

    let call = bob.call(Method::DELETE, "/v1/users/me");
    call.send().await.expect(204);

    assert_eq!(ids(&ada.replies_to(&tweet, 100).await), [of_eve.id]);
    expect_replies(&ada, &tweet, &[of_eve.id]).await;
}

#[tokio::test]
async fn a_reply_that_the_stream_tells_of_twice_is_counted_once() {
    let roost = Client::shared().await;
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    let tweet = ada.post("what do you think?").await;
    let reply = bob.reply(&tweet, "a lot").await;
    expect_replies(&ada, &tweet, &[reply.id]).await;

    let posted = StreamRecord::replied(bob.id, reply.id);
    let deleted = StreamRecord::reply_deleted(bob.id, reply.id);
    for _ in 0..3 {
        let batch = table_batch(&[&posted]);
        let Some(()) = roost.invoke("settle-reactions", &batch).await else {
            return;
        };
    }
    expect_replies(&ada, &tweet, &[reply.id]).await;

    bob.delete(&reply).await;
    expect_replies(&ada, &tweet, &[]).await;
    // Late records, in the order in which a shard has them.
    for _ in 0..2 {
        let batch = table_batch(&[&posted, &deleted]);
        roost.invoke("settle-reactions", &batch).await;
    }
    expect_replies(&ada, &tweet, &[]).await;
}

#[tokio::test]
async fn replies_are_counted_exactly_although_functions_die() {
    let Some((cloud, tables, _)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let roost = cloud.client();
    let author = roost.sign_up("star").await;
    let people = roost.sign_up_many("fan", 10).await;
    let tweet = author.post("what do you think?").await;
    let random = fastrand::Rng::new();
    println!("seed {}", random.get_seed());

    let stop = Notify::new();
    let replying = async {
        // Of each three replies, one is deleted again.
        let kept = people.iter().map(|user| {
            let tweet = &tweet;
            async move {
                let mut kept = Vec::new();
                for n in 0..12 {
                    let reply = user.reply(tweet, &format!("number {n}")).await;
                    if n % 3 == 2 {
                        user.delete(&reply).await;
                    } else {
                        kept.push(reply);
                    }
                }
                kept
            }
        });
        let kept = newest_first(in_parallel(10, kept).await.concat());
        eventually(PATIENCE * 3, "every reply is counted once", || async {
            let count = author.tweet(tweet.id).await.reply_count;
            expect_equal("reply_count", count, kept.len() as u64)
        })
        .await;
        stop.notify_one();
        kept
    };
    let victims = ["settle-reactions"];
    let (kept, killed) = tokio::join!(
        replying,
        cloud.keep_killing(&victims, 200..700, random, &stop)
    );
    assert!(killed > 0, "nothing was killed");
    // Nothing comes behind it.
    tokio::time::sleep(Duration::from_secs(2)).await;
    expect_replies(&author, &tweet, &ids(&kept)).await;

    // And nothing is left when the tweet goes, but the replies themselves.
    author.delete(&tweet).await;
    let (of_replies, words) = (kept.len(), [tweet.id.to_string()]);
    eventually(PATIENCE, "only the replies name the tweet", || async {
        let mentions = tables.mentions(&words).await;
        let others = mentions.iter().filter(|item| !item.starts_with("tweets: "));
        expect_equal("others", others.collect(), Vec::<&String>::new())?;
        expect_equal("mentions", mentions.len(), of_replies)
    })
    .await;
}
