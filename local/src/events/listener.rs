//! Somebody who hears events: as many a second as a person can make anything of, and the number of the others.
//!
//! An event is missed for one of two reasons. Either more happens than is passed on, and a sample has to do. Or the listener
//! takes so long that the buffer went round. Both are counted, and told at most once a second.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

use super::{Event, Told};

/// Events a second that are passed on in the long run, and at once after a pause.
const PER_SECOND: u32 = 300;
/// The time that one event uses up.
const EACH: Duration = Duration::from_nanos(1_000_000_000 / PER_SECOND as u64);
/// The time between two events that say what was missed.
const REPORT_PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Listener {
    told: Receiver<Told>,
    /// When the allowance is whole again. Each event moves it on; if it is more than a second ahead, there is none left.
    whole_at: Instant,
    missed: u64,
    /// When the number of missed events may be told again.
    report_at: Instant,
}

impl Listener {
    pub(super) fn new(told: Receiver<Told>) -> Self {
        let now = Instant::now();
        Self {
            told,
            whole_at: now,
            missed: 0,
            report_at: now,
        }
    }

    /// The next event, as JSON. `None` if there will be none any more.
    pub(crate) async fn next(&mut self) -> Option<Arc<str>> {
        loop {
            // Before what comes next, and not only when the timer gets to it.
            if self.missed > 0 && Instant::now() >= self.report_at {
                return Some(self.report());
            }
            let told = tokio::select! {
                told = self.told.recv() => told,
                () = sleep_until(self.report_at), if self.missed > 0 => continue,
            };
            match told {
                Ok(told) if told.is_deed || self.is_allowed() => return Some(told.text),
                Ok(_) => self.missed += 1,
                Err(RecvError::Lagged(count)) => self.missed += count,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    fn is_allowed(&mut self) -> bool {
        let now = Instant::now();
        let after_this = self.whole_at.max(now) + EACH;
        let is_allowed = after_this <= now + Duration::from_secs(1);
        if is_allowed {
            self.whole_at = after_this;
        }
        is_allowed
    }

    fn report(&mut self) -> Arc<str> {
        self.report_at = Instant::now() + REPORT_PAUSE;
        let count = std::mem::take(&mut self.missed);
        Event::Missed { count }.text()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant as Clock;

    use serde_json::Value;
    use tokio::time::timeout;

    use super::super::{BUFFER, Events};
    use super::*;

    fn request(number: usize) -> Event {
        Event::Request {
            method: "GET".to_owned(),
            route: format!("GET /{number}"),
            status: 200,
            ms: 1,
            caller: None,
        }
    }

    /// Everything that comes until nothing does for longer than a report may take.
    async fn hear(listener: &mut Listener) -> Vec<Value> {
        let mut heard = vec![];
        while let Ok(Some(text)) = timeout(REPORT_PAUSE * 2, listener.next()).await {
            heard.push(serde_json::from_str(&text).expect("JSON"));
        }
        heard
    }

    fn of_type<'a>(heard: &'a [Value], kind: &str) -> Vec<&'a Value> {
        heard.iter().filter(|event| event["type"] == kind).collect()
    }

    fn missed(heard: &[Value]) -> u64 {
        let missed = of_type(heard, "missed");
        missed
            .iter()
            .filter_map(|event| event["count"].as_u64())
            .sum()
    }

    #[tokio::test]
    async fn a_few_events_come_as_they_were_told() {
        let events = Events::new();
        events.tell(|| request(0));
        let mut listener = events.listen();
        for number in 1..=3 {
            events.tell(|| request(number));
        }
        let heard = hear(&mut listener).await;
        let routes: Vec<_> = heard.iter().map(|event| &event["route"]).collect();
        assert_eq!(routes, ["GET /1", "GET /2", "GET /3"]);
    }

    #[tokio::test]
    async fn a_listener_who_is_too_slow_is_told_how_much_they_missed_and_goes_on() {
        let events = Events::new();
        let mut listener = events.listen();
        let too_many = 10;
        for number in 0..BUFFER + too_many {
            events.tell(|| request(number));
        }
        let first = listener.next().await.expect("a report");
        let first: Value = serde_json::from_str(&first).expect("JSON");
        assert_eq!(first["type"], "missed");
        assert_eq!(first["count"], too_many);
        let next = listener.next().await.expect("the oldest that is left");
        assert!(next.contains(&format!("GET /{too_many}\"")), "{next}");
    }

    #[tokio::test]
    async fn of_a_flood_a_sample_is_passed_on_and_the_rest_is_counted_but_every_deed_is_heard() {
        let events = Events::new();
        let mut listener = events.listen();
        let flood = BUFFER - 1;
        for number in 0..flood {
            events.tell(|| request(number));
        }
        events.tell(|| Event::Flushed { keys: 5 });
        let started = Clock::now();
        let heard = hear(&mut listener).await;
        let passed_on = of_type(&heard, "request").len();
        assert_eq!(passed_on as u64 + missed(&heard), flood as u64);
        let allowed = f64::from(PER_SECOND) * (1.0 + started.elapsed().as_secs_f64());
        assert!(passed_on >= PER_SECOND as usize - 1, "{passed_on}");
        assert!((passed_on as f64) <= allowed, "{passed_on}");
        assert_eq!(of_type(&heard, "flushed").len(), 1);

        // After a pause it is as before.
        events.tell(|| request(flood));
        let heard = hear(&mut listener).await;
        assert_eq!((heard.len(), missed(&heard)), (1, 0));
    }
}
