//! A list that is missing is rebuilt while something else happens to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use roost_tests::{Contest, Function, Interleavings, Party, Race};
use serde_json::Value;
use shared::domain::Entry;

use super::{
    Outcome, Person, Posting, World, asks, asks_key, asks_table, delivering, reading, report,
    shown_ids,
};

async fn author(world: &World) -> (Person, Vec<Entry>) {
    let author = world.sign_up().await;
    let tweets = world.tweets(&author, 3, 60_000).await;
    (author, tweets)
}

/// A list that is missing.
struct MissingList {
    reader: Person,
    /// The reader follows this author.
    author: Person,
    /// What the timeline holds, newest first: the author's tweets, and one of the reader's.
    before: Vec<u64>,
}

async fn given_missing_list(world: &World, author: &Person, tweets: &[Entry]) -> MissingList {
    let reader = world.sign_up().await;
    world.follow(&reader, author).await;
    let mut entries = world.tweets(&reader, 1, 60_500).await;
    entries.extend_from_slice(tweets);
    let mut before: Vec<u64> = entries.iter().map(|entry| entry.tweet.get()).collect();
    before.sort_unstable_by(|a, b| b.cmp(a));
    MissingList {
        reader,
        author: author.clone(),
        before,
    }
}

/// A page that was read during a race shows all that was there before, and perhaps what was posted meanwhile.
#[track_caller]
fn expect_page(answer: &Value, before: &[u64], trace: &str) {
    let shown = shown_ids(answer);
    let old: Vec<u64> = shown
        .iter()
        .copied()
        .filter(|id| before.contains(id))
        .collect();
    assert_eq!(old, before, "a page that was read in{trace}");
    assert!(shown.is_sorted_by(|a, b| a > b), "{shown:?} in{trace}");
}

/// Runs a race of somebody who reads the list with somebody who delivers a tweet of the author. They meet at the list, at
/// the right to rebuild it, and at the author's tweets. The page must show what was there before.
async fn race_for_a_page(
    world: &World,
    interleavings: &mut Interleavings,
    list: &MissingList,
    home_timeline: &Arc<Function>,
    delivery: Party<Value>,
) {
    let (me, them) = (list.reader.id, list.author.id);
    let contested = move |_, text: &str, _| {
        asks_key(text, &["home_timeline", "rebuild"], me)
            || asks_table(text, &["Query", "PutItem"], "tweets", them)
    };
    let parties = vec![reading(home_timeline, &list.reader), delivery];
    let Outcome { trace, answers } = world
        .race(&list.reader, interleavings, contested, parties)
        .await;
    if let Some(page) = answers.first() {
        expect_page(page, &list.before, &trace);
    }
}

#[tokio::test]
async fn a_rebuild_and_a_fan_out_in_every_order_lose_and_double_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let home_timeline = world.function(0, "home-timeline");
    let posting = Posting::of_party(&world, 1);
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let (author, tweets) = author(&world).await;
        let list = given_missing_list(&world, &author, &tweets).await;
        let post = posting.party(&author);
        race_for_a_page(&world, &mut interleavings, &list, &home_timeline, post).await;
    }
    report("a rebuild and a fan-out", &interleavings, 20);
}

#[tokio::test]
async fn a_rebuild_and_a_late_delivery_in_every_order_double_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let home_timeline = world.function(0, "home-timeline");
    let fan_out = world.function(1, "fan-out-tweets");
    let (author, tweets) = author(&world).await;
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let list = given_missing_list(&world, &author, &tweets).await;
        // In the middle of what the rebuild finds.
        let late = delivering(&fan_out, tweets[1]);
        race_for_a_page(&world, &mut interleavings, &list, &home_timeline, late).await;
    }
    report("a rebuild and a late delivery", &interleavings, 7);
}

#[tokio::test]
async fn two_rebuilds_in_every_order_fill_the_list_once() {
    let Some(world) = World::new().await else {
        return;
    };
    let sandboxes = [0, 1].map(|party| world.function(party, "home-timeline"));
    let (author, tweets) = author(&world).await;
    let mut interleavings = Interleavings::of_parties_alike();
    while interleavings.advance() {
        let list = given_missing_list(&world, &author, &tweets).await;
        let MissingList { reader, before, .. } = list;
        let parties = sandboxes.iter().map(|sandbox| reading(sandbox, &reader));
        let me = reader.id;
        let contested = move |_, text: &str, before: usize| {
            if !asks_key(text, &["home_timeline", "rebuild"], me) {
                return Contest::No;
            }
            match (text.split(' ').next(), before) {
                // The second reader looks again and again until the first one has rebuilt the list.
                (Some("LRANGE" | "EVALSHA"), 1..) => Contest::Waits,
                (Some("LINDEX"), 1..) => Contest::No,
                _ => Contest::Yes,
            }
        };
        let Outcome { trace, answers } = world
            .race(&reader, &mut interleavings, contested, parties.collect())
            .await;
        for answer in &answers {
            assert_eq!(shown_ids(answer), before, "a page that was read in{trace}");
        }
    }
    report("two rebuilds", &interleavings, 20);
}

#[tokio::test]
async fn a_rebuild_that_is_taken_over_while_somebody_posts_loses_nothing() {
    let Some(world) = World::new().await else {
        return;
    };
    let sandboxes = [0, 1].map(|party| world.function(party, "home-timeline"));
    let posting = Posting::of_party(&world, 2);
    let mut interleavings = Interleavings::default();
    while interleavings.advance() {
        let (author, tweets) = author(&world).await;
        let list = given_missing_list(&world, &author, &tweets).await;
        let MissingList { reader, before, .. } = list;
        let posted = Arc::new(AtomicU64::new(0));
        let third: Party<Value> = {
            let (posting, author) = (posting.clone(), author.clone());
            let posted = Arc::clone(&posted);
            Box::new(move || {
                posted.store(posting.post(&author).get(), Ordering::SeqCst);
                Value::Null
            })
        };
        // The second reader comes when the first one's right to rebuild has run out.
        let right = format!("rebuild:{{{}}}", reader.id);
        let second = world.after_loss_of(right, 1, reading(&sandboxes[1], &reader));
        let parties = vec![reading(&sandboxes[0], &reader), second, third];
        let (me, them) = (reader.id, author.id);
        // Three parties have many orders, so only the most important requests are contested: the first reader fills the
        // list after reading the tables, the second rebuilds it from the beginning, and a tweet is stored and pushed.
        let contested = move |party: usize, text: &str, _| {
            // Not the script with which it began, which has the right to rebuild among its keys.
            let fills = asks(text, "EVALSHA", &format!("home_timeline:{{{me}}}"))
                && !text.contains(&format!(" rebuild:{{{me}}}"));
            let second = asks_key(text, &["home_timeline"], me)
                && ["LPUSHX", "EVALSHA"]
                    .iter()
                    .any(|command| text.starts_with(command))
                || text.starts_with("is lost")
                || asks_table(text, &["Query", "PutItem"], "tweets", them);
            if party == 0 { fills } else { second }
        };
        let nothing_lost = async |race: &Race<'_, Value>| {
            // A list that says it is complete has everything that was delivered before.
            let delivered = posted.load(Ordering::SeqCst);
            if let Some(shown) = world.read_at_once(&reader).await {
                let mut wanted = before.iter().chain((delivered > 0).then_some(&delivered));
                let trace = race.trace();
                assert!(
                    wanted.all(|id| shown.contains(id)),
                    "{shown:?} after{trace}"
                );
            }
        };
        let Outcome { trace, answers } = world
            .watched_race(
                &reader,
                &mut interleavings,
                contested,
                parties,
                nothing_lost,
            )
            .await;
        for page in answers.iter().take(2) {
            expect_page(page, &before, &trace);
        }
    }
    report("a rebuild that is taken over", &interleavings, 20);
}
