//! The rest of a list is filled in after its reader has got the first page, while something else happens to the list.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roost_tests::{Function, Interleavings, Party, Race, events};
use serde_json::Value;
use shared::domain::Entry;

use super::follows::{Change, ChangeOfEdge};
use super::{
    Person, Posting, World, asks, asks_key, asks_table, delivering, expect_processed,
    expect_status, reading, report, shows,
};

/// An author with more tweets than the first page of a reader's list has.
async fn author(world: &World) -> (Person, Vec<Entry>) {
    let author = world.sign_up().await;
    let tweets = world.tweets(&author, 6, 60_000).await;
    (author, tweets)
}

/// A reader whose list holds the newest two of these tweets, and says so.
async fn reader_with_first_page(world: &World, author: &Person, tweets: &[Entry]) -> Person {
    let reader = world.sign_up().await;
    world.follow(&reader, author).await;
    let timelines = world.stores.timelines();
    let token = timelines.begin_rebuild(reader.id).await;
    let token = token.expect("Redis answers").expect("a new user's list");
    let filled = timelines
        .finish_first_page(reader.id, token, &tweets[..2])
        .await;
    assert!(filled.expect("Redis answers"));
    reader
}

/// The party that fills in the rest of the reader's list.
fn filling(fill_timelines: &Arc<Function>, reader: &Person) -> Party<Value> {
    let (fill_timelines, user) = (Arc::clone(fill_timelines), reader.id.get());
    Box::new(move || {
        let answer = fill_timelines.invoke(events::timeline_fill(user));
        expect_processed(&answer);
        answer
    })
}

#[tokio::test]
async fn a_fill_and_a_fan_out_in_every_order_lose_and_double_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let fill_timelines = world.function(0, "fill-timelines");
    let posting = Posting::of_party(&world, 1);
    for late in [false, true] {
        let mut interleavings = Interleavings::default();
        while interleavings.advance() {
            let (author, tweets) = author(&world).await;
            let reader = reader_with_first_page(&world, &author, &tweets).await;
            let other = if late {
                // From below what the list has so far.
                delivering(&posting.fan_out, tweets[4])
            } else {
                posting.party(&author)
            };
            let parties = vec![filling(&fill_timelines, &reader), other];
            let (me, them) = (reader.id, author.id);
            let contested = move |_, text: &str, _| {
                asks_key(text, &["home_timeline"], me)
                    || asks_table(text, &["Query", "PutItem"], "tweets", them)
            };
            world
                .race(&reader, &mut interleavings, contested, parties)
                .await;
        }
        report("a fill and a fan-out", &interleavings, 4);
    }
}

#[tokio::test]
async fn a_fill_and_a_list_that_is_lost_and_rebuilt_in_every_order_lose_and_double_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let fill_timelines = world.function(0, "fill-timelines");
    let home_timeline = world.function(1, "home-timeline");
    let (author, tweets) = author(&world).await;
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let reader = reader_with_first_page(&world, &author, &tweets).await;
        let list = format!("home_timeline:{{{}}}", reader.id);
        let read = reading(&home_timeline, &reader);
        let read: Party<Value> = Box::new(|| {
            let answer = read();
            expect_status(&answer, 200);
            answer
        });
        let rebuilding = world.after_loss_of(list, 1, read);
        let parties = vec![filling(&fill_timelines, &reader), rebuilding];
        let (me, them) = (reader.id, author.id);
        let contested = move |party: usize, text: &str, _| {
            let reads_only = party == 1 && (text.starts_with('L') || text.starts_with("DEL"));
            asks_key(text, &["home_timeline"], me) && !reads_only
                || party == 0 && asks_table(text, &["Query"], "tweets", them)
        };
        let whole = async |race: &Race<'_, Value>| {
            // A list that says it is complete is complete.
            if let Some(shown) = world.read_at_once(&reader).await {
                let wanted: Vec<u64> = tweets.iter().map(|entry| entry.tweet.get()).collect();
                assert_eq!(shown, wanted, "after{}", race.trace());
            }
        };
        world
            .watched_race(&reader, &mut interleavings, contested, parties, whole)
            .await;
    }
    report("a fill and a rebuild", &interleavings, 10);
}

/// The reader follows or unfollows somebody while a fill reads the people whom they follow.
async fn expect_right_when_a_fill_meets(change: Change) {
    let Some(world) = World::new().await else {
        return;
    };
    let fill_timelines = world.function(0, "fill-timelines");
    let change_of_edge = ChangeOfEdge::of_party(&world, 1, change);
    let ((author, tweets), (other, _)) = (author(&world).await, author(&world).await);
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let reader = reader_with_first_page(&world, &author, &tweets).await;
        let followee = match change {
            // Has tweets above and below the floor of the list.
            Change::Follow => &other,
            // Has tweets in the list.
            Change::Unfollow => &author,
        };
        let answered = Arc::new(AtomicBool::new(false));
        let parties = vec![
            filling(&fill_timelines, &reader),
            change_of_edge.party(&reader, followee, &answered),
        ];
        let (me, them) = (reader.id, followee.id);
        let contested = move |party: usize, text: &str, _| {
            let list = asks_key(text, &["home_timeline", "hidden"], me);
            // Of the fill's requests, those that matter: which list it finds, whose tweets it reads, and what it adds.
            let fill = asks(text, "LINDEX", "") || asks(text, "EVALSHA", "");
            list && (party == 1 || fill)
                || party == 0 && asks_table(text, &["Query"], "following", me)
                || asks_table(text, &["TransactWriteItems"], "following", them)
        };
        let no_ghost = async |race: &Race<'_, Value>| {
            if change == Change::Unfollow && answered.load(Ordering::SeqCst) {
                let page = world.read(&reader).await;
                assert!(!shows(&page, &author), "a ghost after{}", race.trace());
            }
        };
        world
            .watched_race(&reader, &mut interleavings, contested, parties, no_ghost)
            .await;
    }
    report(&format!("a fill and {change:?}"), &interleavings, 15);
}

#[tokio::test]
async fn a_fill_and_a_follow_in_every_order_lose_and_double_nothing() {
    expect_right_when_a_fill_meets(Change::Follow).await;
}

#[tokio::test]
async fn a_fill_and_an_unfollow_in_every_order_leave_no_ghost() {
    expect_right_when_a_fill_meets(Change::Unfollow).await;
}
