//! Live updates: what is said to a connected reader, and when.
//!
//! A delivery that reaches a reader who is connected leaves a *notice*. A notice says only that there may be something
//! new. What is new is counted when the reader is told, so however many notices there were, one message tells of all that
//! came until then.
//!
//! Three times decide. After the first notice, tweets are gathered for [`GATHER_MS`], so that a burst becomes one message.
//! Between two messages to one reader lie [`PACE_MS`]. And a notice that is younger than [`FRESH_MS`] stands for the
//! next delivery, too: its message cannot have been counted yet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{TweetId, UserId};

/// How long tweets are gathered before a reader is told of the first one.
pub const GATHER_MS: u64 = 2_000;

/// The time between two messages to one reader. A little more than the five seconds that are promised, because clocks and
/// networks are not exact.
pub const PACE_MS: u64 = 5_200;

/// How long a notice stands for later deliveries. Well below [`GATHER_MS`]: the clocks of two sandboxes may differ.
pub const FRESH_MS: u64 = 500;

/// By how much the clocks of two sandboxes may differ.
const CLOCKS_DIFFER_MS: u64 = 300;

/// A message that was to go out so long ago is given up, and the next one need not wait for it.
const GIVEN_UP_MS: u64 = 30_000;

/// The most connections that one user can have. A further one ends the oldest.
pub const MOST_CONNECTIONS: usize = 10;

/// API Gateway ends every connection after two hours. What is remembered of one goes a little later.
pub const CONNECTION_SECONDS: u64 = 2 * 3600 + 600;

/// The number of sets that connected users are kept in.
pub const SETS: u8 = 16;

/// People who signed up in the same week are in the same set.
const SET_MS: u64 = 7 * 24 * 3600 * 1_000;

/// In which set a user is. The followers of one author are read in the order of their ids, which is the order in which
/// they signed up. So a thousand followers of a large author are in one set or two, and one command asks for them all.
pub const fn set_of(user: UserId) -> u8 {
    (user.millis() / SET_MS % SETS as u64) as u8
}

/// Users by the set that they are in.
pub fn by_set(users: &[UserId]) -> BTreeMap<u8, Vec<UserId>> {
    let mut sets = BTreeMap::<u8, Vec<UserId>>::new();
    for user in users {
        sets.entry(set_of(*user)).or_default().push(*user);
    }
    sets
}

/// What a user's connections have heard so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// When the tweets were counted that all of them have heard of; 0 if one of them has heard nothing yet.
    pub counted_at: u64,
    /// When the last message to one of them went out.
    pub sent_at: u64,
    /// When the message was counted that is still on its way.
    pub on_its_way_since: Option<u64>,
}

/// The notices of one reader that nobody has acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    pub first_at: u64,
    pub last_at: u64,
}

impl Pending {
    pub const fn since(noticed_at: u64) -> Self {
        Self {
            first_at: noticed_at,
            last_at: noticed_at,
        }
    }

    /// Before this time nobody is told, whatever they have heard.
    pub const fn gathered_at(self) -> u64 {
        self.first_at + GATHER_MS
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            first_at: self.first_at.min(other.first_at),
            last_at: self.last_at.max(other.last_at),
        }
    }

    /// What is left when tweets were counted at this time. A notice stands for deliveries that come a little later, and the
    /// count may have missed those.
    pub fn after_count_at(self, counted_at: u64) -> Option<Self> {
        let is_covered = counted_at > self.last_at + FRESH_MS + CLOCKS_DIFFER_MS;
        (!is_covered).then_some(Self::since(self.last_at))
    }
}

/// What to do about notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The reader has heard of them.
    Drop,
    Tell,
    /// Not before this time.
    Wait {
        until: u64,
    },
}

/// Decides about notices. All times are milliseconds since 1970.
pub fn next_step(pending: Pending, heard: Heard, now: u64) -> Step {
    if pending.after_count_at(heard.counted_at).is_none() {
        return Step::Drop;
    }
    let paced_at = match heard.on_its_way_since {
        // It goes out any moment, and the pace counts from then.
        Some(since) if now < since + GIVEN_UP_MS => now + PACE_MS,
        _ => heard.sent_at + PACE_MS,
    };
    let due_at = pending.gathered_at().max(paced_at);
    if now < due_at {
        Step::Wait { until: due_at }
    } else {
        Step::Tell
    }
}

/// What we say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ToClient {
    /// So many tweets are new since the last message, or since what the client says it has seen.
    New {
        count: usize,
        /// `true` if there are more than were counted.
        capped: bool,
        newest_id: TweetId,
    },
    Pong,
    Error {
        detail: String,
    },
}

/// What a client says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromClient {
    Ping,
    /// The newest position that the client has.
    Seen(TweetId),
}

impl FromClient {
    /// The error is for the client to read.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let Ok(Value::Object(message)) = serde_json::from_str(text) else {
            return Err("a message is a JSON object with a type: ping or seen");
        };
        let field = |name| message.get(name).and_then(Value::as_str);
        match (field("type"), message.len()) {
            (Some("ping"), 1) => Ok(Self::Ping),
            (Some("ping"), _) => Err("a ping has nothing but its type"),
            (Some("seen"), 2) => field("newest_id")
                .and_then(|id| TweetId::parse(id).ok())
                .map(Self::Seen)
                .ok_or("newest_id is the id of a tweet, as a text"),
            (Some("seen"), _) => Err("seen has a newest_id and nothing else"),
            _ => Err("type is ping or seen"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_burst_is_gathered_and_then_told() {
        let nothing = Heard::default();
        let until = 10_000 + GATHER_MS;
        let pending = Pending::since(10_000);
        assert_eq!(next_step(pending, nothing, 10_000), Step::Wait { until });
        assert_eq!(next_step(pending, nothing, until), Step::Tell);
    }

    #[test]
    fn what_was_counted_after_a_notice_has_told_of_it() {
        let heard = Heard {
            counted_at: 12_000,
            sent_at: 12_100,
            on_its_way_since: None,
        };
        let step = |noticed_at, now| next_step(Pending::since(noticed_at), heard, now);
        assert_eq!(step(11_100, 13_000), Step::Drop);
        // Perhaps it was counted a moment before a delivery for which the notice stands.
        let until = 12_100 + PACE_MS;
        assert_eq!(step(11_300, 14_500), Step::Wait { until });
    }

    #[test]
    fn a_message_that_is_on_its_way_is_waited_for_but_not_for_ever() {
        let heard = |since| Heard {
            counted_at: since,
            sent_at: 0,
            on_its_way_since: Some(since),
        };
        let step = |heard| next_step(Pending::since(50_000), heard, 53_000);
        assert!(matches!(step(heard(49_000)), Step::Wait { .. }));
        assert_eq!(step(heard(20_000)), Step::Tell);
    }

    #[test]
    fn clients_can_say_two_things_and_hear_what_is_wrong_with_others() {
        assert_eq!(
            FromClient::parse(r#"{"type":"ping"}"#),
            Ok(FromClient::Ping)
        );
        assert_eq!(
            FromClient::parse(r#"{"type":"seen","newest_id":"7"}"#),
            Ok(FromClient::Seen(TweetId::new(7)))
        );
        for wrong in [
            "",
            "ping",
            "[]",
            "{}",
            r#"{"type":"pong"}"#,
            r#"{"type":"seen"}"#,
            r#"{"type":"seen","newest_id":7}"#,
            r#"{"type":"seen","newest_id":"-1"}"#,
            r#"{"type":"ping","newest_id":"7"}"#,
        ] {
            assert!(FromClient::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        // Deliveries come at any times, and leave a notice unless a fresh one stands for them. Somebody else may leave one as
        // well. Whoever looks once in a while tells of each delivery, and never too often.
        #[test]
        fn every_delivery_is_told_of_and_messages_keep_their_distance(
            mut deliveries in prop::collection::vec(0..60_000_u64, 1..60),
            others in prop::collection::vec(0..60_000_u64, 0..10),
            looks_every in 50..1_500_u64,
            delay in 0..800_u64,
        ) {
            deliveries.sort_unstable();
            let mut times: Vec<u64> = deliveries.iter().chain(&others).copied().collect();
            times.sort_unstable();
            let (mut notices, mut last) = (Vec::new(), None);
            for at in times {
                if others.contains(&at) || last.is_none_or(|last| last + FRESH_MS <= at) {
                    last = Some(at);
                    notices.push(at);
                }
            }
            let (mut open, mut heard) = (None::<Pending>, Heard::default());
            let (mut sent, mut counted): (Vec<u64>, u64) = (Vec::new(), 0);
            let mut coming = notices.into_iter().peekable();
            let mut now = 0;
            while now < 200_000 {
                now += looks_every;
                while let Some(at) = coming.next_if(|at| *at <= now) {
                    let new = Pending::since(at);
                    open = Some(open.map_or(new, |open| open.and(new)));
                }
                if let Some(since) = heard.on_its_way_since.filter(|since| since + delay <= now) {
                    heard = Heard { sent_at: since + delay, on_its_way_since: None, ..heard };
                    sent.push(since + delay);
                }
                let Some(pending) = open else { continue };
                match next_step(pending, heard, now) {
                    Step::Drop => open = None,
                    Step::Tell => {
                        // If nothing is new, nothing is said.
                        if deliveries.iter().any(|at| counted < *at && *at <= now) {
                            heard = Heard { counted_at: now, on_its_way_since: Some(now), ..heard };
                        }
                        counted = now;
                        open = pending.after_count_at(now);
                    }
                    Step::Wait { until } => prop_assert!(until > now),
                }
            }
            prop_assert_eq!(open, None);
            prop_assert!(counted >= deliveries[deliveries.len() - 1], "the last one was not told of");
            prop_assert!(sent.windows(2).all(|pair| pair[1] - pair[0] >= PACE_MS), "{sent:?}");
        }
    }
}
