//! The hours at which people read.

use shared::domain::UserId;
use shared::domain::presence::Place;
use shared::platform::now_millis;
use shared::stores::Presence;
use shared::stores::presence::Arrival;

use super::{Stores, someone};

const DAY_MS: u64 = 24 * 3_600_000;

#[tokio::test]
async fn the_first_to_come_in_an_hour_writes_and_the_first_to_read_a_warmed_list_knows() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (presence, user) = (stores.make(Presence::new), someone());
    let arrive = async |is_first, was_warmed| {
        let arrival = presence.arrive(user).await.expect("Redis answers");
        let expected = Arrival {
            is_first,
            was_warmed,
        };
        assert_eq!(arrival, expected);
    };
    arrive(true, false).await;
    arrive(false, false).await;

    let now = now_millis();
    presence.record(user, now).await.expect("a row is written");
    arrive(false, false).await;
    let mut ttl = redis::cmd("TTL");
    ttl.arg(format!("active:{{{user}}}"));
    let lives: i64 = stores.redis(&ttl).await;
    let left = i64::try_from(3_600 - now / 1_000 % 3_600).expect("seconds");
    // Right before the hour turns, it may be gone already.
    assert!((left - 20..=left).contains(&lives) || left < 20, "{lives}");

    presence.mark_warmed(&[user]).await.expect("Redis answers");
    arrive(false, true).await;
    arrive(false, false).await;
    presence.erase(user, now).await.expect("a row is removed");
}

#[tokio::test]
async fn users_of_an_hour_are_read_page_by_page_and_leave_no_row_when_they_are_erased() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let presence = stores.make(Presence::new);
    // A time that no other test uses, and at which nothing expires; and one at which these are expected.
    let read_at = now_millis() + fastrand::u64(400..4_000) * DAY_MS;
    let now = read_at + DAY_MS;
    let mut users: Vec<_> = (0..40).map(|_| someone()).collect();
    for user in &users {
        let recorded = presence.record(*user, read_at).await;
        recorded.expect("a row is written");
    }
    let expected = async || {
        let mut found: Vec<UserId> = Vec::new();
        for mut place in Place::rest_of_round(now, None) {
            loop {
                let page = presence.page(place, 2).await.expect("the table answers");
                assert!(page.ids.len() <= 2 && page.ids.is_sorted());
                found.extend(&page.ids);
                match page.ids.last().filter(|_| page.more) {
                    Some(last) => place = place.behind(*last),
                    None => break,
                }
            }
        }
        found.sort_unstable();
        found
    };
    users.sort_unstable();
    assert_eq!(expected().await, users);

    for user in &users[1..] {
        presence.erase(*user, now).await.expect("rows are removed");
    }
    assert_eq!(expected().await, users[..1]);
    presence.erase(users[0], now).await.expect("the last goes");
}
