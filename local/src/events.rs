//! What happens in the local cloud, told while it happens to everybody who listens at `/dev/events`.
//!
//! Whoever knows of something tells it by [`tell`]: the HTTP API of requests, Lambda of invocations, the terminal of what
//! functions write ([`function_wrote`]). While nobody listens, nothing is made of it. A [`Listener`] gets what is told after
//! it came; it is bounded, and says how much it missed.
//!
//! There is no tweet's text and no token in an event: functions do not log them, and of a request only the route is told,
//! never the path.

mod line;
mod listener;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use chrono::Utc;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::broadcast;

pub(crate) use self::listener::Listener;

/// Events that are kept for a listener who is behind; older ones are missed.
const BUFFER: usize = 1_024;

static EVENTS: LazyLock<Events> = LazyLock::new(Events::new);

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Event {
    /// A request to a route of the template was answered.
    Request {
        method: String,
        /// `GET /v1/users/{id}`, with its variables, so that nothing a client wrote is in it.
        route: String,
        status: u16,
        ms: u64,
        /// The `sub` of the token.
        caller: Option<String>,
    },
    /// A function ran.
    Invocation {
        function: String,
        source: &'static str,
        /// With the start of the process, if there was one, and without the time in the queue.
        ms: u64,
        /// Whether a process was started for it.
        cold: bool,
        /// Whether the function gave an answer, whatever it says.
        ok: bool,
        /// How many records of a stream it was given.
        #[serde(skip_serializing_if = "Option::is_none")]
        records: Option<usize>,
    },
    /// A function logged this.
    Log {
        function: String,
        level: String,
        message: String,
        fields: Map<String, Value>,
    },
    /// A function counted this; durations are lists, a value each.
    Metrics {
        function: String,
        metrics: Map<String, Value>,
    },
    /// Somebody asked for the end of this process.
    Killed { function: String, pid: u32 },
    /// Somebody emptied Redis, which had so many keys.
    Flushed { keys: u64 },
    /// So many events were not passed on to this listener.
    Missed { count: u64 },
}

impl Event {
    /// What somebody did on purpose is passed on, however much else happens.
    fn is_deed(&self) -> bool {
        matches!(self, Self::Killed { .. } | Self::Flushed { .. })
    }

    /// As JSON, with the time in milliseconds since 1970.
    fn text(&self) -> Arc<str> {
        #[derive(Serialize)]
        struct Timed<'a> {
            at: i64,
            #[serde(flatten)]
            event: &'a Event,
        }
        let timed = Timed {
            at: Utc::now().timestamp_millis(),
            event: self,
        };
        serde_json::to_string(&timed).unwrap_or_default().into()
    }
}

/// Tells what happened, if anybody listens.
pub(crate) fn tell(event: impl FnOnce() -> Event) {
    EVENTS.tell(event);
}

/// Tells what a line of a function says, if anybody listens.
pub(crate) fn function_wrote(function: &str, line: &str) {
    if EVENTS.is_heard()
        && let Some(event) = line::read(function, line)
    {
        EVENTS.tell(|| event);
    }
}

/// Hears everything from now on.
pub(crate) fn listen() -> Listener {
    EVENTS.listen()
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// An event on its way to a listener.
#[derive(Clone)]
struct Told {
    text: Arc<str>,
    is_deed: bool,
}

struct Events {
    channel: broadcast::Sender<Told>,
}

impl Events {
    fn new() -> Self {
        Self {
            channel: broadcast::Sender::new(BUFFER),
        }
    }

    fn is_heard(&self) -> bool {
        self.channel.receiver_count() > 0
    }

    fn tell(&self, event: impl FnOnce() -> Event) {
        if self.is_heard() {
            let event = event();
            // If the last listener just left, nobody needs it.
            let _ = self.channel.send(Told {
                text: event.text(),
                is_deed: event.is_deed(),
            });
        }
    }

    fn listen(&self) -> Listener {
        Listener::new(self.channel.subscribe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_made_of_an_event_while_nobody_listens() {
        let events = Events::new();
        events.tell(|| panic!("nobody wants to know"));
        drop(events.listen());
        events.tell(|| panic!("nobody wants to know any more"));
    }

    #[test]
    fn an_event_says_its_type_and_its_time() {
        let before = Utc::now().timestamp_millis();
        let event = Event::Invocation {
            function: "fan-out-pages".to_owned(),
            source: "stream",
            ms: 7,
            cold: true,
            ok: true,
            records: Some(3),
        };
        let mut told: Value = serde_json::from_str(&event.text()).expect("JSON");
        let at = told["at"].take().as_i64().expect("a time");
        assert!((before..=Utc::now().timestamp_millis()).contains(&at));
        let expected = serde_json::json!({
            "type": "invocation", "at": null, "function": "fan-out-pages", "source": "stream",
            "ms": 7, "cold": true, "ok": true, "records": 3,
        });
        assert_eq!(told, expected);
    }
}
