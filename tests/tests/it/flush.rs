//! Redis is a cache. Losing all of it at any moment costs time, never a tweet (I8).

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use roost_tests::{
    Client, LocalCloud, PATIENCE, User, eventually, expect_equal, expect_oracle, expect_timeline,
    ids, in_parallel, newest_first, throughout,
};

/// A reader, and what the authors whom they follow have posted, newest first.
async fn given_reader_of_several(
    roost: &Client,
    authors: usize,
    tweets_of_each: usize,
) -> (User, Vec<u64>) {
    let reader = roost.sign_up("reader").await;
    let authors = roost.sign_up_many("autho", authors).await;
    in_parallel(4, authors.iter().map(|author| reader.follow(author))).await;
    let posting = authors
        .iter()
        .map(|author| author.post_many(tweets_of_each, 2));
    let posted = in_parallel(4, posting).await.concat();
    (reader, ids(&newest_first(posted)))
}

#[tokio::test]
async fn a_walk_goes_on_right_when_redis_loses_everything_in_the_middle() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let (reader, expected) = given_reader_of_several(cloud.client(), 3, 80).await;
    reader.eventually_sees(&expected).await;

    let mut met = Vec::new();
    let mut walk = reader.walking(7);
    while let Some(page) = walk.next().await {
        met.extend(page.expect("a page of a timeline at rest").data);
        if [70, 140, 147].contains(&met.len()) {
            cache.flush().await;
        }
    }

    expect_timeline(&met, &expected).expect("the walk met every tweet once");
    cache.flush().await;
    expect_timeline(&reader.walk(100).await, &expected).expect("a new walk does, too");
}

#[tokio::test]
async fn reads_are_right_when_redis_loses_everything_while_people_post() {
    let small_pages = [("FAN_OUT_PAGE_SIZE", "2")];
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&small_pages).await else {
        return;
    };
    let roost = cloud.client();
    let readers = roost.sign_up_many("reade", 3).await;
    let authors = roost.sign_up_many("autho", 4).await;
    // Nobody follows them: their tweets come by reposts only.
    let outsider = roost.sign_up("outsider").await;
    in_parallel(
        4,
        readers
            .iter()
            .flat_map(|reader| authors.iter().map(move |author| reader.follow(author))),
    )
    .await;

    let acknowledged = RefCell::new(Vec::new());
    let done = Cell::new(false);
    let posting = async {
        in_parallel(
            4,
            authors.iter().map(|author| async {
                for n in 0..80 {
                    let text = format!("number {n}");
                    let tweet = if n % 4 == 1 {
                        let tweet = outsider.post(&text).await;
                        author.repost(&tweet).await;
                        tweet
                    } else {
                        author.post(&text).await
                    };
                    acknowledged.borrow_mut().push(tweet.id);
                }
            }),
        )
        .await;
        done.set(true);
    };
    let flushing = async {
        let mut flushes = 0;
        while !done.get() {
            let before: Vec<u64> = acknowledged.borrow().clone();
            cache.flush().await;
            flushes += 1;
            // Two reads each: one that rebuilds, one of what was rebuilt.
            for _ in 0..2 {
                for (reader, page) in readers
                    .iter()
                    .zip(in_parallel(3, readers.iter().map(|reader| reader.home(100, None))).await)
                {
                    assert!(page.meta.complete, "a page after a flush is incomplete");
                    let floor = page
                        .meta
                        .next_cursor
                        .as_ref()
                        .and(page.meta.oldest_id)
                        .unwrap_or_default();
                    let shown = |id: &u64| page.data.iter().any(|tweet| tweet.id == *id);
                    let missing: Vec<_> = before
                        .iter()
                        .filter(|id| **id >= floor && !shown(id))
                        .collect();
                    assert!(
                        missing.is_empty(),
                        "after flush {flushes}, {} misses {missing:?}, posted before it",
                        reader.handle
                    );
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        flushes
    };
    let ((), flushes) = tokio::join!(posting, flushing);
    println!(
        "{flushes} flushes during {} tweets",
        acknowledged.borrow().len()
    );
    assert!(flushes >= 3, "only {flushes} flushes, which proves little");

    expect_oracle(&tables, readers.iter().chain(&authors), 30, PATIENCE).await;
}

#[tokio::test]
async fn what_was_hidden_stays_hidden_when_redis_loses_everything() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let roost = cloud.client();
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    let [muted, blocked] = roost.sign_up_each(["muted", "blocked"]).await;
    bob.follow(&eve).await;
    bob.follow(&muted).await;
    let kept = eve.post("kept").await;
    bob.newest().await;

    for round in 0..5 {
        bob.follow(&ada).await;
        bob.follow(&blocked).await;
        let mistake = eve.post("a mistake").await;
        ada.post("on its way").await;
        muted.post("on its way").await;
        blocked.post("on its way").await;
        eve.delete(&mistake).await;
        bob.unfollow(&ada).await;
        bob.mute(&muted).await;
        blocked.block(&bob).await;
        cache.flush().await;
        throughout(
            Duration::from_millis(600),
            "unfollowed, muted, blocked and deleted tweets stay hidden",
            || async {
                expect_timeline(&bob.newest().await.data, &[kept.id])
                    .map_err(|complaint| format!("round {round}: {complaint}"))
            },
        )
        .await;
        blocked.unblock(&bob).await;
    }
}

#[tokio::test]
async fn a_reader_waits_for_one_page_and_the_rest_of_the_list_is_filled_afterwards() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let (reader, expected) = given_reader_of_several(cloud.client(), 4, 60).await;
    cache.flush().await;

    // Two devices at once.
    let pages = in_parallel(2, [(); 2].map(|()| reader.home(20, None))).await;

    for page in pages {
        expect_timeline(&page.data, &expected[..20]).expect("the newest page");
    }
    eventually(PATIENCE, "the list holds everything", || async {
        // A fan-out that was under way may have pushed some once more, with other bits in front.
        let lists = cache.home_timelines(&[reader.id]).await;
        let tweet = |entry: &Vec<u8>| [&[entry[0] & 0x7f], &entry[1..8]].concat();
        let entries: BTreeSet<_> = lists[0].iter().map(tweet).collect();
        // One more entry is the marker which says that nothing is older.
        expect_equal("entries", entries.len(), expected.len() + 1)
    })
    .await;
    expect_timeline(&reader.walk(50).await, &expected).expect("everything, once");
}
