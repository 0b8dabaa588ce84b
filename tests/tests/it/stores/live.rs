//! Tickets, and who is connected.

use shared::domain::live::{CONNECTION_SECONDS, FRESH_MS};
use shared::domain::ticket::GOOD_FOR_MS;
use shared::domain::{Ticket, UserId};
use shared::platform::now_millis;
use shared::stores::connections::Connection;
use shared::stores::{Connections, Listeners, Tickets};

use super::{Stores, WEEK_MS, someone, tweet_at};

#[tokio::test]
async fn a_ticket_is_good_once_and_for_thirty_seconds() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let tickets = stores.make(Tickets::new);
    let (user, now) = (someone(), now_millis());
    let issue = async || tickets.issue(user, now).await.expect("a ticket");
    let redeem = async |ticket: &Ticket, at| tickets.redeem(ticket, at).await.expect("an answer");

    let (ticket, ends_at) = issue().await;
    assert_eq!(ends_at, now + GOOD_FOR_MS);
    assert!(redeem(&ticket, ends_at - 1).await, "in time");
    assert!(!redeem(&ticket, now).await, "again");

    let (late, ends_at) = issue().await;
    assert!(!redeem(&late, ends_at).await, "too late");

    let (guessed, _) = issue().await;
    let mut secret = guessed.secret;
    secret[5] ^= 1;
    let wrong = Ticket { secret, ..guessed };
    assert!(!redeem(&wrong, now).await, "with another secret");
    let user = someone();
    assert!(
        !redeem(&Ticket { user, ..guessed }, now).await,
        "for another"
    );
    // Nobody else's mistakes use a ticket up.
    assert!(redeem(&guessed, now).await);
}

#[tokio::test]
async fn who_is_connected_is_found_and_left_alone_while_a_notice_is_fresh() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let listeners = stores.make(Listeners::new);
    let now = now_millis();
    // They are in one set, and it is not the one of people who sign up now: it is cleared below.
    let four_weeks_ago = UserId::first_at(now - 4 * WEEK_MS).get();
    let [here, away, left] = [1, 2, 3].map(|n| UserId::new(four_weeks_ago + n));
    for user in [here, left] {
        listeners.add(user, now).await.expect("a listener");
    }
    listeners.remove(left).await.expect("a listener leaves");
    let due = async |at| {
        let found = listeners.among(&[here, away, left], at).await;
        found.expect("an answer").due
    };
    assert_eq!(due(now + FRESH_MS - 1).await, [], "a fresh notice stands");
    assert_eq!(due(now + FRESH_MS).await, [here]);
    listeners
        .noticed(&[here, left], now + FRESH_MS)
        .await
        .expect("noticed");
    assert_eq!(due(now + FRESH_MS).await, []);
    assert_eq!(
        due(now + 2 * FRESH_MS).await,
        [here],
        "whoever left stays away"
    );
    // Somebody comes much later: nobody can be connected since before.
    let later = now + (CONNECTION_SECONDS + 10) * 1_000;
    listeners.add(away, later).await.expect("a listener");
    assert_eq!(due(later + FRESH_MS).await, [away]);
}

#[tokio::test]
async fn a_message_is_left_only_if_the_client_has_said_nothing_meanwhile() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let connections = stores.make(Connections::new);
    let (user, now) = (someone(), now_millis());
    let one = async || {
        let found = connections.of_user(user).await;
        found.expect("connections").pop().expect("a connection")
    };
    let leave = async |connection: &Connection| {
        let newest = tweet_at(now, 2);
        let left = connections.leave_message(connection, 1, false, newest, now);
        left.await.expect("an answer")
    };
    connections
        .add(user, "c29tZWJvZHk=", now)
        .await
        .expect("a connection");
    let read = one().await;
    assert!(read.opens_at() > now, "it is just being opened");
    connections
        .seen(user, read.id(), tweet_at(now, 1))
        .await
        .expect("seen");
    assert!(!leave(&read).await, "what was counted is out of date");
    assert!(leave(&one().await).await);
    connections.erase(user).await.expect("erased");
    assert!(!leave(&read).await, "nobody is there any more");
}

#[tokio::test]
async fn fans_are_the_connected_among_the_followers() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let listeners = stores.make(Listeners::new);
    let (author, here, away, now) = (someone(), someone(), someone(), now_millis());
    listeners.add(here, now).await.expect("a listener");
    listeners
        .add_fans(author, &[here, away], now)
        .await
        .expect("fans");
    let (counts, _) = listeners.count_fans(author).await.expect("counts");
    assert_eq!(counts.iter().sum::<usize>(), 1);
    let set = counts.iter().position(|count| *count > 0).expect("a set");
    let set = u8::try_from(set).expect("a few sets");
    let (next, fans) = listeners.fans(author, set, 0).await.expect("fans");
    assert_eq!((next, fans), (0, vec![here]));
}

#[tokio::test]
async fn a_reader_is_found_among_few_and_among_thousands() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let listeners = stores.make(Listeners::new);
    let (here, away, now) = (someone(), someone(), now_millis());
    listeners.add(here, now - FRESH_MS).await.expect("Redis");
    let asked = async || listeners.among(&[here, away], now).await.expect("Redis");
    assert_eq!(asked().await.due, [here]);

    // They signed up in the same week as the reader, so they are in the same set.
    let crowd = (1..=300).map(|n| UserId::new(here.get() + n));
    for stranger in crowd {
        listeners.add(stranger, now).await.expect("Redis");
    }
    let found = asked().await;
    assert_eq!(found.due, [here]);
    listeners.remove(here).await.expect("Redis");
    assert_eq!(asked().await.due, []);
}
