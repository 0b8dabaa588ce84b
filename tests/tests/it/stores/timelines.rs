use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use redis::cmd;
use roost_tests::{RedisProxy, insist, redis_ahead_by, redis_watched, stretched};
use shared::domain::id::TIME_SHIFT;
use shared::domain::timeline::{ALL_KNOWN, Filling, LATE_MS, ListEnd, SLACK, Source, Window};
use shared::domain::{Entry, TweetId, UserId};
use shared::platform::now_millis;
use shared::stores::Timelines;
use shared::stores::timelines::{Extent, Unfinished};

use super::{
    CAP, Stores, WEEK_MS, assert_same, home_timeline, someone, sorted, tweet_at, tweets_of,
};

/// So many of one author fill a list.
const BACKFILL: usize = CAP + 1;

const BOTTOM: Entry = ListEnd::Bottom.to_entry();

/// What the list holds when it says that nothing is older.
fn down_to_the_bottom(entries: &[Entry]) -> Vec<Entry> {
    [entries, &[BOTTOM]].concat()
}

/// What the list holds after a rebuild with these entries; `bottom` says that there is nothing older.
fn rebuilt(entries: &[Entry], bottom: bool) -> Vec<Entry> {
    [entries, &[ListEnd::of(entries, bottom).to_entry()]].concat()
}

/// What the list holds of these entries, newest first, if it keeps so many.
fn cut(entries: &[Entry], kept: usize) -> Vec<Entry> {
    let end = ListEnd::Cut(entries[kept].tweet).to_entry();
    [&entries[..kept], &[end]].concat()
}

#[tokio::test]
async fn a_tweet_is_pushed_only_where_a_list_exists() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    // More than go into one pipeline.
    let users: Vec<UserId> = (0..600).map(|_| someone()).collect();
    let (active, dormant): (Vec<_>, Vec<_>) = users.iter().partition(|user| user.get() % 2 == 0);
    join_all(
        active
            .iter()
            .map(|user| stores.given_list(*user, &[], true)),
    )
    .await;
    let now = now_millis();
    let entry = Entry::new(tweet_at(now, 0), someone());

    let delivered = stores.timelines().deliver(entry, &users, now).await;

    assert_eq!(delivered.expect("a delivery"), active.len());
    for user in active {
        assert_same(&stores.list(user).await, &[entry, BOTTOM]);
    }
    for user in dormant {
        assert_same(&stores.list(user).await, &[]);
    }
}

#[tokio::test]
async fn a_list_that_outgrows_its_slack_is_trimmed_to_the_newest_800() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, author, now) = (someone(), someone(), now_millis());
    stores.given_list(user, &[], true).await;
    let timelines = stores.timelines();
    let push = async |n: u64| {
        let entry = Entry::new(tweet_at(now, n), author);
        let delivered = timelines.deliver(entry, &[user], now).await;
        assert_eq!(delivered.expect("a delivery"), 1);
    };
    let newest_first = |count: u64| {
        let entry = |n| Entry::new(tweet_at(now, n), author);
        (0..count).rev().map(entry).collect::<Vec<_>>()
    };
    let full = (CAP + SLACK) as u64 - 1;

    for n in 0..full {
        push(n).await;
    }
    let list = stores.list(user).await;
    assert_same(&list, &down_to_the_bottom(&newest_first(full)));

    push(full).await;
    let list = stores.list(user).await;
    assert_same(&list, &cut(&newest_first(full + 1), CAP));
}

#[tokio::test]
async fn a_late_tweet_goes_to_its_place_and_not_twice() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let all = tweets_of(someone(), 150, 60_000);
    let timelines = stores.timelines();
    // At the head, deep inside, and at the very end: only a list that goes down to the bottom takes the last.
    for (bottom, late) in [
        (true, 0),
        (true, 100),
        (true, 149),
        (false, 0),
        (false, 100),
    ] {
        let user = someone();
        let mut others = all.clone();
        let entry = others.remove(late);
        stores.given_list(user, &others, bottom).await;
        let expected = rebuilt(&all, bottom);
        for _ in 0..2 {
            let delivered = timelines.deliver(entry, &[user], now_millis()).await;
            assert_eq!(delivered.expect("a delivery"), 1);
            assert_same(&stores.list(user).await, &expected);
        }
    }
}

#[tokio::test]
async fn late_tweets_do_not_make_a_list_grow_without_end() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, timelines) = (someone(), stores.timelines());
    let count = CAP + SLACK + 60;
    let all = tweets_of(someone(), count as u64, 60_000);
    // Every third is late.
    let (late, kept): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(|(n, _)| n % 3 == 0);
    let [late, kept] =
        [late, kept].map(|half| half.into_iter().map(|(_, e)| *e).collect::<Vec<_>>());
    stores.given_list(user, &kept, true).await;

    for entry in late {
        let delivered = timelines.deliver(entry, &[user], now_millis()).await;
        delivered.expect("a delivery");
        let length = stores.list(user).await.len();
        assert!(length <= CAP + SLACK, "{length} entries");
    }

    // What is left is whole down to its end, and at least as much as a list keeps.
    let list = stores.list(user).await;
    let kept = list.len() - 1;
    assert!((CAP..CAP + SLACK).contains(&kept), "{kept}");
    assert_same(&list, &cut(&all, kept));
}

#[tokio::test]
async fn a_late_tweet_that_overfills_an_unfinished_list_does_not_pass_it_for_whole() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, timelines) = (someone(), stores.timelines());
    let all = tweets_of(someone(), (CAP + SLACK) as u64, 60_000);
    let token = timelines.begin_rebuild(user).await.expect("Redis answers");
    token.expect("the right to rebuild");

    for entry in all {
        timelines
            .insert(entry, &[user])
            .await
            .expect("Redis answers");
    }

    let opened = timelines.open(user, Extent::Whole).await;
    let window = opened.expect("Redis answers").window;
    assert!(
        !matches!(window, Window::Read(_)),
        "an unfinished list was taken for whole"
    );
}

#[tokio::test]
async fn a_late_tweet_below_the_end_of_a_trimmed_list_is_left_out() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, dormant, author) = (someone(), someone(), someone());
    let mut kept = tweets_of(author, 70, 60_000);
    let older = kept.pop().expect("some");
    stores.given_list(user, &kept, false).await;

    let delivered = stores
        .timelines()
        .deliver(older, &[user, dormant], now_millis())
        .await;

    assert_eq!(delivered.expect("a delivery"), 0);
    assert_same(&stores.list(user).await, &rebuilt(&kept, false));
    assert_same(&stores.list(dormant).await, &[]);
}

#[tokio::test]
async fn ids_that_differ_in_their_last_bits_are_kept_in_order() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let author = someone();
    let millis = now_millis() - 60_000;
    let all: Vec<Entry> = (0..40)
        .rev()
        .map(|n| Entry::new(tweet_at(millis, n), author))
        .collect();
    let (even, odd): (Vec<Entry>, Vec<Entry>) =
        all.iter().partition(|entry| entry.tweet.get() % 2 == 0);
    let timelines = stores.timelines();

    let user = someone();
    stores.given_list(user, &even, true).await;
    timelines.backfill(user, &odd).await.expect("a backfill");
    assert_same(&stores.list(user).await, &down_to_the_bottom(&all));

    let user = someone();
    stores.given_list(user, &even, true).await;
    for entry in odd {
        timelines.insert(entry, &[user]).await.expect("an insert");
    }
    assert_same(&stores.list(user).await, &down_to_the_bottom(&all));
}

#[tokio::test]
async fn a_backfill_is_merged_in_order_and_keeps_the_bottom() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let user = someone();
    let there = tweets_of(someone(), 200, 60_000);
    let added = tweets_of(someone(), 300, 30_000);
    stores.given_list(user, &there, true).await;
    let expected = down_to_the_bottom(&sorted(&[&there, &added]));

    // Whatever comes again changes nothing, even if a part of it is pushed in between.
    for part in [&added[..], &added[..], &added[50..60], &there[..]] {
        let backfilled = stores.timelines().backfill(user, part).await;
        backfilled.expect("a backfill");
        assert_same(&stores.list(user).await, &expected);
    }
    let seconds: i64 = stores.redis(cmd("TTL").arg(home_timeline(user))).await;
    assert!(seconds > 0, "the list lost its time to live: {seconds}");
}

#[tokio::test]
async fn a_backfill_keeps_the_newest_800_and_pushes_the_bottom_out() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let timelines = stores.timelines();
    let prolific = tweets_of(someone(), BACKFILL as u64, 60_000);

    let user = someone();
    stores.given_list(user, &[], true).await;
    let backfilled = timelines.backfill(user, &prolific[..CAP]).await;
    backfilled.expect("a backfill");
    let list = stores.list(user).await;
    assert_same(&list, &down_to_the_bottom(&prolific[..CAP]));

    let backfilled = timelines.backfill(user, &prolific).await;
    backfilled.expect("a backfill");
    assert_same(&stores.list(user).await, &cut(&prolific, CAP));

    let user = someone();
    let there = tweets_of(someone(), 500, 30_000);
    stores.given_list(user, &there, true).await;
    let backfilled = timelines.backfill(user, &prolific[..500]).await;
    backfilled.expect("a backfill");
    let list = stores.list(user).await;
    assert_same(&list, &cut(&sorted(&[&there, &prolific[..500]]), CAP));
}

#[tokio::test]
async fn a_backfill_reaches_no_deeper_than_a_trimmed_list() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let user = someone();
    let there = tweets_of(someone(), 100, 60_000);
    let added = tweets_of(someone(), 300, 60_500);
    stores.given_list(user, &there, false).await;

    let backfilled = stores.timelines().backfill(user, &added).await;

    backfilled.expect("a backfill");
    let mut expected = sorted(&[&there, &added[..99]]);
    expected.push(ListEnd::of(&there, false).to_entry());
    assert_same(&stores.list(user).await, &expected);
}

#[tokio::test]
async fn many_lists_are_backfilled_each_as_deep_as_it_reaches() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let added = tweets_of(someone(), 300, 60_500);
    let missing = someone();
    let (mut users, mut expected) = (vec![missing], vec![vec![]]);
    // More than one pipeline's worth. One that was cut has room for nothing, and others for a part or for all.
    for minutes in [0, 1, 50, 100, 299, 300, 301, 400, 2, 3, 4, 5] {
        for bottom in [true, false] {
            let user = someone();
            let there = tweets_of(someone(), minutes, 60_000);
            if there.is_empty() && !bottom {
                continue;
            }
            stores.given_list(user, &there, bottom).await;
            let deepest = there.last().filter(|_| !bottom);
            let fits = |it: &&Entry| deepest.is_none_or(|deepest| it.tweet > deepest.tweet);
            let fitting: Vec<Entry> = added.iter().filter(fits).copied().collect();
            let mut list = sorted(&[&there, &fitting]);
            list.push(
                deepest
                    .map_or(ListEnd::Bottom, |_| ListEnd::of(&there, false))
                    .to_entry(),
            );
            users.push(user);
            expected.push(list);
        }
    }

    let backfilled = stores.timelines().backfill_each(&users, &added).await;

    backfilled.expect("a backfill");
    for (user, expected) in users.iter().zip(&expected) {
        assert_same(&stores.list(*user).await, expected);
    }
}

#[tokio::test]
async fn a_missing_list_is_not_created_by_a_backfill() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let user = someone();
    let tweets = tweets_of(someone(), 10, 60_000);
    let backfilled = stores.timelines().backfill(user, &tweets).await;
    backfilled.expect("a backfill");
    assert_same(&stores.list(user).await, &[]);
}

#[tokio::test]
async fn what_is_delivered_during_a_rebuild_survives_it() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (author, timelines) = (someone(), stores.timelines());
    let read = tweets_of(someone(), 100, 60_000);
    let late = tweets_of(author, 1, 90_500)[0];
    let old = tweets_of(author, 1, WEEK_MS)[0];
    for bottom in [true, false] {
        let user = someone();
        let token = timelines.begin_rebuild(user).await.expect("Redis answers");
        let token = token.expect("the right to rebuild");
        let now = now_millis();
        let young = Entry::new(tweet_at(now, 0), author);
        for entry in [young, late, old, read[0]] {
            let delivered = timelines.deliver(entry, &[user], now).await;
            assert_eq!(delivered.expect("a delivery"), 1);
        }
        let opened = timelines.open(user, Extent::Whole).await;
        assert_eq!(opened.expect("Redis answers").window, Window::Building);

        let done = timelines.finish_rebuild(user, token, &read, bottom).await;

        assert!(done.expect("Redis answers"));
        let mut expected = sorted(&[&[young, late], &read]);
        if bottom {
            expected.push(old);
        }
        expected.push(ListEnd::of(&read, bottom).to_entry());
        assert_same(&stores.list(user).await, &expected);
    }
}

/// A list of which only the newest of these entries were rebuilt.
async fn given_first_page(stores: &Stores, user: UserId, entries: &[Entry]) -> Filling {
    let timelines = stores.timelines();
    let token = timelines.begin_rebuild(user).await.expect("Redis answers");
    let token = token.expect("the right to rebuild");
    let done = timelines.finish_first_page(user, token, entries).await;
    assert!(done.expect("Redis answers"));
    match timelines.unfinished(user).await.expect("Redis answers") {
        Unfinished::Rest { filling, room } => {
            assert_eq!(room, CAP - entries.len());
            filling
        }
        other => panic!("a list with a first page is {other:?}"),
    }
}

#[tokio::test]
async fn what_lands_in_a_list_before_its_rest_is_filled_in_survives_it() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (author, timelines) = (someone(), stores.timelines());
    let read = tweets_of(someone(), 100, 60_000);
    let (first, rest) = read.split_at(30);
    // Followed meanwhile: some of their tweets belong below the first page.
    let backfilled = tweets_of(author, 80, 60_500);
    for bottom in [true, false] {
        let user = someone();
        let filling = given_first_page(&stores, user, first).await;
        timelines
            .backfill(user, &backfilled)
            .await
            .expect("a backfill");
        let young = Entry::new(tweet_at(now_millis(), 0), author);
        let delivered = timelines.deliver(young, &[user], now_millis()).await;
        assert_eq!(delivered.expect("a delivery"), 1);

        for extent in [Extent::Whole, Extent::Newest(100), Extent::Newest(5)] {
            let opened = timelines.open(user, extent).await.expect("Redis answers");
            let Window::Read(source) = opened.window else {
                panic!("a list with a first page can be read");
            };
            assert!(
                source.floor > first[29].tweet,
                "{extent:?} promises too much"
            );
        }

        let done = timelines.finish_fill(user, filling, rest, bottom).await;
        assert!(done.expect("Redis answers"));
        let mut expected = sorted(&[&[young], &read, &backfilled]);
        expected.push(ListEnd::of(&read, bottom).to_entry());
        assert_same(&stores.list(user).await, &expected);
        let again = timelines.finish_fill(user, filling, &read, bottom).await;
        assert!(!again.expect("Redis answers"), "a list is filled twice");
        let after = timelines.unfinished(user).await.expect("Redis answers");
        assert_eq!(after, Unfinished::Nothing);
    }
}

#[tokio::test]
async fn a_filling_of_a_list_that_was_lost_and_rebuilt_stores_nothing() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, timelines) = (someone(), stores.timelines());
    let read = tweets_of(someone(), 100, 60_000);
    let lost = given_first_page(&stores, user, &read[..30]).await;
    let _: i64 = stores.redis(cmd("DEL").arg(home_timeline(user))).await;
    let done = timelines.finish_fill(user, lost, &read[30..], true).await;
    assert!(!done.expect("Redis answers"), "there is nothing to fill");

    given_first_page(&stores, user, &read[..30]).await;
    let before = stores.list(user).await;
    let done = timelines.finish_fill(user, lost, &read[30..], true).await;
    assert!(!done.expect("Redis answers"), "somebody else's filling");
    assert_same(&stores.list(user).await, &before);
}

#[tokio::test]
async fn a_list_that_grows_too_long_before_it_is_filled_does_not_pass_for_whole() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, timelines) = (someone(), stores.timelines());
    let first = tweets_of(someone(), 10, 60_000);
    given_first_page(&stores, user, &first).await;
    let backfilled = tweets_of(someone(), BACKFILL as u64, 120_000);
    timelines
        .backfill(user, &backfilled)
        .await
        .expect("a backfill");
    assert_same(&stores.list(user).await, &[]);

    given_first_page(&stores, user, &first).await;
    for n in 0..=(CAP + SLACK) as u64 {
        let young = Entry::new(tweet_at(now_millis(), n), someone());
        timelines
            .deliver(young, &[user], now_millis())
            .await
            .expect("a delivery");
    }
    let opened = timelines
        .open(user, Extent::Whole)
        .await
        .expect("Redis answers");
    assert_eq!(opened.window, Window::Missing);
}

#[tokio::test]
async fn a_list_is_rebuilt_by_one_reader_at_a_time() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, timelines) = (someone(), stores.timelines());
    let begun = join_all((0..20).map(|_| timelines.begin_rebuild(user))).await;
    let mut tokens = begun
        .into_iter()
        .filter_map(|token| token.expect("Redis answers"));
    let token = tokens.next().expect("one may rebuild");
    assert_eq!(tokens.next(), None, "a second reader may rebuild, too");

    let done = timelines.finish_rebuild(user, token, &[], true).await;
    assert!(done.expect("Redis answers"));
    let again = timelines.begin_rebuild(user).await.expect("Redis answers");
    assert_eq!(again, None, "a list that is whole is rebuilt");

    let _: i64 = stores.redis(cmd("DEL").arg(home_timeline(user))).await;
    let again = timelines.begin_rebuild(user).await.expect("Redis answers");
    assert!(again.is_some(), "the right was not given back");
}

#[tokio::test]
async fn a_rebuild_of_a_list_that_was_lost_stores_nothing() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, timelines) = (someone(), stores.timelines());
    let token = timelines.begin_rebuild(user).await.expect("Redis answers");
    let token = token.expect("the right to rebuild");
    let _: i64 = stores.redis(cmd("DEL").arg(home_timeline(user))).await;

    let read = tweets_of(someone(), 10, 60_000);
    let done = timelines.finish_rebuild(user, token, &read, true).await;

    assert!(!done.expect("Redis answers"));
    assert_same(&stores.list(user).await, &[]);
}

#[tokio::test]
async fn a_rebuild_that_was_taken_over_stores_nothing() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, timelines) = (someone(), stores.timelines());
    let slow = timelines.begin_rebuild(user).await.expect("Redis answers");
    let slow = slow.expect("the right to rebuild");
    let now = now_millis();
    let lost = Entry::new(tweet_at(now, 0), someone());
    let delivered = timelines.deliver(lost, &[user], now).await;
    assert_eq!(delivered.expect("a delivery"), 1);
    // As if the slow one's time had run out.
    let lock = format!("rebuild:{{{user}}}");
    let _: i64 = stores.redis(cmd("DEL").arg(lock)).await;
    let fast = timelines.begin_rebuild(user).await.expect("Redis answers");
    let fast = fast.expect("the right to rebuild");
    let building = stores.list(user).await;
    assert_eq!(
        building.len(),
        1,
        "an abandoned rebuild left something behind"
    );

    let (stale, fresh) = (
        tweets_of(someone(), 9, 90_000),
        tweets_of(someone(), 10, 60_000),
    );
    let done = timelines.finish_rebuild(user, slow, &stale, true).await;
    assert!(!done.expect("Redis answers"));
    assert_same(&stores.list(user).await, &building);

    let done = timelines.finish_rebuild(user, fast, &fresh, true).await;
    assert!(done.expect("Redis answers"));
    assert_same(&stores.list(user).await, &down_to_the_bottom(&fresh));
}

/// Whatever lands in a list before its rebuild ends, the tweets that the rebuild has yet to bring must not be given up.
async fn expect_unfinished_rebuild_after(backfilled: u64, pushed: u64) {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, timelines) = (someone(), stores.timelines());
    let others = tweets_of(someone(), 100, 60_000);
    let prolific = tweets_of(someone(), backfilled, 60_500);
    let now = now_millis();
    let young: Vec<Entry> = (0..pushed)
        .map(|n| Entry::new(tweet_at(now, n), others[0].author))
        .collect();
    let token = timelines.begin_rebuild(user).await.expect("Redis answers");
    let token = token.expect("the right to rebuild");

    let merged = timelines.backfill(user, &prolific).await;
    merged.expect("a backfill");
    for entry in &young {
        let delivered = timelines.deliver(*entry, &[user], now).await;
        delivered.expect("a delivery");
    }

    let window = async || {
        let opened = timelines.open(user, Extent::Whole).await;
        opened.expect("Redis answers").window
    };
    if let Window::Read(source) = window().await {
        panic!(
            "{} entries are taken for a timeline that nobody has filled yet",
            source.entries.len()
        );
    }
    let done = timelines.finish_rebuild(user, token, &others, true).await;
    // A list that was given up is rebuilt by the next reader.
    if done.expect("Redis answers") {
        let expected = sorted(&[&others, &prolific, &young]);
        assert_same(&stores.list(user).await, &cut(&expected, CAP));
    } else {
        assert!(!matches!(window().await, Window::Read(_)));
    }
}

#[tokio::test]
async fn a_backfill_that_fills_a_list_does_not_pass_it_for_rebuilt() {
    expect_unfinished_rebuild_after(BACKFILL as u64, 0).await;
}

#[tokio::test]
async fn a_trim_does_not_pass_a_list_for_rebuilt() {
    expect_unfinished_rebuild_after(300, 600).await;
}

#[tokio::test]
async fn a_reader_sees_as_much_of_a_list_as_it_wants() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, timelines) = (someone(), stores.timelines());
    let window = async |extent| {
        let opened = timelines.open(user, extent).await;
        opened.expect("Redis answers").window
    };
    assert_eq!(window(Extent::Whole).await, Window::Missing);
    let entries = tweets_of(someone(), 50, 60_000);
    stores.given_list(user, &entries, true).await;

    let Window::Read(newest) = window(Extent::Newest(7)).await else {
        panic!("there is a list");
    };
    assert_same(&newest.entries, &entries[..7]);
    assert!(newest.floor > entries[6].tweet);
    let whole = Source {
        entries,
        floor: ALL_KNOWN,
    };
    assert_eq!(window(Extent::Whole).await, Window::Read(whole));
}

#[tokio::test]
async fn an_author_is_taken_out_of_a_list_and_nothing_else() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, author, timelines) = (someone(), someone(), stores.timelines());
    let (kept, gone) = (
        tweets_of(someone(), 60, 60_000),
        tweets_of(author, 70, 60_500),
    );
    stores
        .given_list(user, &sorted(&[&kept, &gone]), true)
        .await;
    // What was pushed twice has to go twice.
    let now = now_millis();
    let young = Entry::new(tweet_at(now, 0), author);
    for _ in 0..2 {
        let delivered = timelines.deliver(young, &[user], now).await;
        assert_eq!(delivered.expect("a delivery"), 1);
    }

    let removed = timelines.remove_author(user, author).await;

    removed.expect("Redis answers");
    assert_same(&stores.list(user).await, &down_to_the_bottom(&kept));
}

#[tokio::test]
async fn an_author_who_filled_a_list_is_taken_out_in_one_pass() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, author, timelines) = (someone(), someone(), stores.timelines());
    let entries = tweets_of(author, CAP as u64 - 1, 60_000);
    let remove = async |author| {
        let started = Instant::now();
        let removed = timelines.remove_author(user, author).await;
        removed.expect("Redis answers");
        started.elapsed()
    };
    let (mut none, mut all) = (Vec::new(), Vec::new());
    for _ in 0..21 {
        stores.given_list(user, &entries, true).await;
        let mut shorter = cmd("EXPIRE");
        stores
            .redis::<()>(shorter.arg(home_timeline(user)).arg(1_000))
            .await;
        none.push(remove(someone()).await);
        all.push(remove(author).await);
        assert_same(&stores.list(user).await, &[BOTTOM]);
        let mut ttl = cmd("TTL");
        let ttl: u64 = stores.redis(ttl.arg(home_timeline(user))).await;
        assert!((900..=1_000).contains(&ttl), "the list lives for {ttl} s");
        let mut delete = cmd("DEL");
        stores.redis::<()>(delete.arg(home_timeline(user))).await;
    }
    none.sort_unstable();
    all.sort_unstable();
    let (none, all) = (none[10], all[10]);
    println!("of 799 entries none is taken out in {none:?}, all are in {all:?}");
    // One search of the list for each entry would take many times as long as one pass.
    assert!(all < 10 * none, "{all:?} against {none:?}");
}

/// Sends what a sandbox sent once more, as a network does that has held it back.
fn send_again(redis: &str, requests: &[Vec<u8>]) {
    let address = redis.trim_start_matches("redis://").trim_end_matches('/');
    let mut late = TcpStream::connect(address).expect("Redis answers");
    for request in requests {
        late.write_all(request).expect("Redis takes a request");
    }
    late.write_all(b"PING\r\n").expect("Redis takes a request");
    late.set_read_timeout(Some(stretched(Duration::from_secs(5))))
        .expect("a time limit");
    let (mut answers, mut buffer) = (Vec::new(), [0; 4_096]);
    while !answers.ends_with(b"+PONG\r\n") {
        let length = late.read(&mut buffer).expect("Redis answers");
        assert!(length > 0, "Redis has hung up");
        answers.extend_from_slice(&buffer[..length]);
    }
}

#[tokio::test]
async fn a_rebuild_that_begins_a_second_time_and_late_leaves_the_list_alone() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let Some(redis) = stores.plain_redis() else {
        return;
    };
    for finished in [false, true] {
        let proxy = RedisProxy::before(&redis);
        let timelines = stores.timelines_at(&proxy.url);
        let user = someone();
        let token = timelines.begin_rebuild(user).await.expect("Redis answers");
        let token = token.expect("nobody else rebuilds the list of a new user");
        let requests = proxy.take_requests();
        let (older, now) = (tweets_of(someone(), 3, 60_000), now_millis());
        let pushed = Entry::new(tweet_at(now, 0), someone());
        let delivered = stores.timelines().deliver(pushed, &[user], now).await;
        assert_eq!(delivered.expect("a delivery"), 1);
        if finished {
            let done = timelines.finish_rebuild(user, token, &older, true).await;
            assert!(done.expect("Redis answers"));
        }
        let before = stores.list(user).await;
        assert_eq!(before[0], pushed);

        send_again(&redis, &requests);
        assert_same(&stores.list(user).await, &before);
        // A command may be late by itself.
        for request in &requests {
            send_again(&redis, std::slice::from_ref(request));
            assert_same(&stores.list(user).await, &before);
        }
    }
}

#[tokio::test]
async fn a_rebuild_that_dies_anywhere_leaves_no_list_that_lives_forever() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let Some(redis) = stores.plain_redis() else {
        return;
    };
    let user = someone();
    let immortal = Arc::<Mutex<Vec<String>>>::default();
    let found = Arc::clone(&immortal);
    let looker = redis::Client::open(redis.as_str()).expect("a URL");
    let watched = redis_watched(&redis, move |command| {
        let mut looker = looker.get_connection().expect("Redis answers");
        let ttl: i64 = cmd("TTL")
            .arg(home_timeline(user))
            .query(&mut looker)
            .expect("Redis answers");
        // -2 is no list.
        if ttl == -1 {
            found.lock().expect("no panic").push(command.to_owned());
        }
    });
    let timelines = stores.timelines_at(&watched);
    let token = timelines.begin_rebuild(user).await.expect("Redis answers");
    let token = token.expect("nobody else rebuilds the list of a new user");
    let tweets = tweets_of(someone(), 3, 0);
    let done = timelines.finish_rebuild(user, token, &tweets, true).await;
    assert!(done.expect("Redis answers"));
    let immortal = immortal.lock().expect("no panic");
    assert!(
        immortal.is_empty(),
        "the list has no end after {immortal:?}"
    );
}

#[tokio::test]
async fn a_rebuild_whose_answer_was_lost_has_begun() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let Some(redis) = stores.plain_redis() else {
        return;
    };
    let (user, proxy) = (someone(), RedisProxy::before(&redis));
    let timelines = stores.timelines_at(&proxy.url);
    let token = timelines.begin_rebuild(user).await.expect("Redis answers");
    assert!(token.is_some());
    let list = stores.list(user).await;
    // Somebody else must wait, and the same request is not refused by its own traces.
    let other = stores.timelines().begin_rebuild(user).await;
    assert_eq!(other.expect("Redis answers"), None);
    send_again(&redis, &proxy.take_requests());
    assert_same(&stores.list(user).await, &list);
}

#[tokio::test]
async fn a_sandbox_whose_clock_is_behind_does_not_push_an_old_tweet_to_the_head() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let Some(redis) = stores.plain_redis() else {
        return;
    };
    let (user, author, now) = (someone(), someone(), now_millis());
    // By the clock that all share, it is half a minute later than this sandbox thinks.
    let sandbox = stores.timelines_at(&redis_ahead_by(&redis, 30));
    let newer = Entry::new(tweet_at(now + 29_000, 0), author);
    stores.given_list(user, &[newer], true).await;

    let late = Entry::new(tweet_at(now, 0), author);
    let delivered = sandbox.deliver(late, &[user], now).await;

    assert_eq!(delivered.expect("a delivery"), 1);
    assert_same(
        &stores.list(user).await,
        &down_to_the_bottom(&[newer, late]),
    );
}

/// A list of these entries as they stand, which nobody has filled: as a version has left it that did not note what it cut off.
async fn given_list_of_an_older_version(stores: &Stores, user: UserId, entries: &[Entry]) {
    let bytes: Vec<Vec<u8>> = entries.iter().map(|entry| entry.to_bytes()).collect();
    let mut push = cmd("RPUSH");
    let _: u64 = stores.redis(push.arg(home_timeline(user)).arg(bytes)).await;
}

async fn whole(timelines: &Timelines, user: UserId) -> Source {
    let opened = timelines.open(user, Extent::Whole).await;
    match opened.expect("Redis answers").window {
        Window::Read(source) => source,
        other => panic!("the list is {other:?}"),
    }
}

fn above(tweet: TweetId) -> TweetId {
    TweetId::new(tweet.get() + 1)
}

#[tokio::test]
async fn the_end_of_a_list_is_the_highest_id_that_was_ever_cut_off() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, author, timelines) = (someone(), someone(), stores.timelines());
    stores.given_list(user, &[], true).await;
    let now = now_millis();
    let entry = |n| Entry::new(tweet_at(now, n), author);
    let deliver = async |n| {
        let delivered = timelines.deliver(entry(n), &[user], now).await;
        assert_eq!(delivered.expect("a delivery"), 1);
    };
    // The last one comes first. One comes twice, because an answer was lost.
    let full = (CAP + SLACK) as u64;
    deliver(5_000).await;
    deliver(0).await;
    for n in 0..full - 3 {
        deliver(n).await;
    }
    assert_eq!(whole(&timelines, user).await.floor, ALL_KNOWN);
    deliver(full - 3).await;
    let source = whole(&timelines, user).await;
    assert_eq!(source.entries.len(), CAP);
    assert_eq!(source.floor, above(entry(5_000).tweet));

    // What is lower than that stays lower, and the next cut does not raise it.
    for n in full..full + SLACK as u64 {
        deliver(n).await;
    }
    let source = whole(&timelines, user).await;
    assert_eq!(source.entries.len(), CAP);
    assert_eq!(source.floor, above(entry(5_000).tweet));
    for n in 6_000..6_000 + full {
        deliver(n).await;
    }
    let source = whole(&timelines, user).await;
    let lowest = source.entries.iter().map(|it| it.tweet).min();
    assert_eq!(Some(source.floor), lowest, "the next one was cut off");
}

#[tokio::test]
async fn a_late_tweet_is_not_put_below_what_was_cut_off() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, timelines) = (someone(), stores.timelines());
    let all = tweets_of(someone(), CAP as u64 + 100, 60_000);
    stores.given_list(user, &[], true).await;
    let backfilled = timelines.backfill(user, &all).await;
    backfilled.expect("a backfill");
    let list = cut(&all, CAP);
    assert_same(&stores.list(user).await, &list);

    for (late, expected) in [(CAP - 1, 1), (CAP, 0), (CAP + 1, 0)] {
        let delivered = timelines.deliver(all[late], &[user], now_millis()).await;
        assert_eq!(delivered.expect("a delivery"), expected, "number {late}");
        assert_same(&stores.list(user).await, &list);
    }
    // The same for whatever is merged into it, and what is taken out leaves the end where it is.
    let backfilled = timelines.backfill(user, &all[CAP..]).await;
    backfilled.expect("a backfill");
    assert_same(&stores.list(user).await, &list);
    let removed = timelines.remove_author(user, all[0].author).await;
    removed.expect("Redis answers");
    assert_same(&stores.list(user).await, &list[CAP..]);
    assert_eq!(whole(&timelines, user).await.floor, above(all[CAP].tweet));
}

#[tokio::test]
async fn a_list_of_an_older_version_is_trusted_no_further_than_before_until_it_is_cut() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (author, timelines) = (someone(), stores.timelines());
    let entries = tweets_of(author, CAP as u64, 60_000);
    let last = entries[CAP - 1].tweet;
    let ten_seconds = TweetId::first_at(last.millis() + LATE_MS);
    let user = someone();
    given_list_of_an_older_version(&stores, user, &entries).await;
    assert_eq!(whole(&timelines, user).await.floor, ten_seconds);

    // Cut by a push: 41 entries that are a second apart.
    let now = now_millis();
    for n in 0..=SLACK as u64 {
        let young = Entry::new(tweet_at(now, n), author);
        let delivered = timelines.deliver(young, &[user], now).await;
        assert_eq!(delivered.expect("a delivery"), 1);
    }
    let source = whole(&timelines, user).await;
    assert_eq!(source.entries.len(), CAP);
    assert_eq!(source.floor, above(entries[CAP - SLACK - 1].tweet));

    // Merged: what was cut off may be ten seconds newer than the last entry. It was a burst.
    let user = someone();
    let burst: Vec<Entry> = (0..CAP as u64)
        .map(|n| Entry::new(tweet_at(now - n, n), author))
        .collect();
    given_list_of_an_older_version(&stores, user, &burst).await;
    let backfilled = timelines.backfill(user, &entries[..1]).await;
    backfilled.expect("a backfill");
    let source = whole(&timelines, user).await;
    let late = LATE_MS << TIME_SHIFT;
    let last = burst[CAP - 1].tweet.get();
    assert_eq!(source.floor, TweetId::new(last + late + 1));
}

#[tokio::test]
async fn a_lower_cap_cuts_lists_when_they_are_pushed_to() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, author) = (someone(), someone());
    let there = tweets_of(author, 500, 60_000);
    stores.given_list(user, &there, true).await;
    let timelines = stores.timelines_with_cap(100);
    let now = now_millis();
    let young = Entry::new(tweet_at(now, 0), author);
    let delivered = timelines.deliver(young, &[user], now).await;
    assert_eq!(delivered.expect("a delivery"), 1);
    let all = [&[young], there.as_slice()].concat();
    assert_same(&stores.list(user).await, &cut(&all, 100));
}

#[tokio::test]
async fn a_higher_cap_does_not_bring_back_what_was_cut_off() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, author) = (someone(), someone());
    let there = tweets_of(author, 500, 60_000);
    stores.given_list(user, &[], true).await;
    let low = stores.timelines_with_cap(100);
    let backfilled = low.backfill(user, &there[..low.backfill_size()]).await;
    backfilled.expect("a backfill");
    assert_same(&stores.list(user).await, &cut(&there, 100));

    let high = stores.timelines_with_cap(400);
    let floor = above(there[100].tweet);
    // What was cut off, late and by a backfill, and what is new.
    let late = high.deliver(there[200], &[user], now_millis()).await;
    assert_eq!(late.expect("a delivery"), 0);
    let backfilled = high.backfill(user, &there).await;
    backfilled.expect("a backfill");
    let now = now_millis();
    for n in 0..200 {
        let young = Entry::new(tweet_at(now, n), author);
        let delivered = high.deliver(young, &[user], now).await;
        assert_eq!(delivered.expect("a delivery"), 1);
    }
    let source = whole(&high, user).await;
    assert_eq!((source.entries.len(), source.floor), (300, floor));
}

/// Whatever happens to a list, it has everything above its floor, and so has every window of it.
#[tokio::test]
async fn a_list_has_everything_above_its_floor_whatever_happens_to_it() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    // The cap was changed, and not all functions know it yet.
    let by_cap = [150, CAP].map(|cap| stores.timelines_with_cap(cap));
    for seed in 0..6 {
        let mut random = fastrand::Rng::with_seed(seed);
        let user = someone();
        let only = [user];
        let authors: Vec<UserId> = (0..4).map(|_| someone()).collect();
        let mut followed: HashSet<UserId> = authors.iter().copied().collect();
        // Posted over a minute, some of it in bursts, and delivered by a clock that goes along.
        let start = now_millis() - 60_000;
        let mut tweets: Vec<Entry> = (0..1_800)
            .map(|n| {
                let within = [300, 5_000, 60_000][random.usize(..3)];
                let at = start + random.u64(..within);
                Entry::new(tweet_at(at, n), authors[random.usize(..4)])
            })
            .collect();
        tweets.sort_unstable();
        let mut arrivals: Vec<(u64, Entry)> = tweets
            .iter()
            .map(|entry| {
                let within = [50, 4_000, 9_000][random.usize(..3)];
                (entry.tweet.millis() + random.u64(..within), *entry)
            })
            .collect();
        arrivals.sort_unstable();
        if seed % 2 == 0 {
            stores.given_list(user, &[], true).await;
        } else {
            let first = Entry::new(tweet_at(start - 1_000, 0), authors[0]);
            given_list_of_an_older_version(&stores, user, &[first]).await;
        }
        for (n, (now, entry)) in arrivals.into_iter().enumerate() {
            // From the middle on, some of them.
            let timelines = &by_cap[1 - usize::from(n > 900 && random.bool())];
            for _ in 0..1 + usize::from(random.usize(..20) == 0) {
                if followed.contains(&entry.author) {
                    insist(|| timelines.deliver(entry, &only, now)).await;
                }
            }
            if random.usize(..60) == 0 {
                let author = authors[random.usize(..4)];
                if followed.remove(&author) {
                    insist(|| timelines.remove_author(user, author)).await;
                } else {
                    followed.insert(author);
                    let posted = tweets.iter().rev().filter(|it| it.author == author);
                    let posted = posted.filter(|it| it.tweet.millis() <= now);
                    let posted: Vec<Entry> =
                        posted.take(timelines.backfill_size()).copied().collect();
                    insist(|| timelines.backfill(user, &posted)).await;
                }
            }
            if n % 100 > 0 && n < 1_799 {
                continue;
            }
            // What was posted and is still on its way is not there yet.
            let arrived = |it: &&Entry| it.tweet.millis() + 9_000 < now || n == 1_799;
            for extent in [Extent::Whole, Extent::Newest(150), Extent::Newest(20)] {
                let opened = insist(|| timelines.open(user, extent)).await;
                let Window::Read(source) = opened.window else {
                    // All authors of a list without an end were unfollowed.
                    continue;
                };
                let there: HashSet<TweetId> = source.entries.iter().map(|it| it.tweet).collect();
                let expected = tweets.iter().filter(|it| followed.contains(&it.author));
                for it in expected
                    .filter(arrived)
                    .filter(|it| it.tweet >= source.floor)
                {
                    let (seed, floor) = (seed, source.floor);
                    assert!(there.contains(&it.tweet), "{seed}: {it:?} is above {floor}");
                }
            }
        }
        let length = stores.list(user).await.len();
        assert!(length <= CAP + SLACK + 1, "{length} entries");
    }
}
