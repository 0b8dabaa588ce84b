//! One tweet's way to all followers, event by event.
//!
//! The POST puts the tweet into its table. That table's stream is asked several times a second; what is found there goes
//! on to Kinesis, which is asked once a second. The first invocation serves a page of followers and cuts the rest in
//! pieces, by the product's own rule. Pieces go through Kinesis or through the stream of a table, each in a lane that
//! has one invocation at a time.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use fastrand::Rng;
use shared::domain::FollowerRange;
use shared::domain::range::{Left, Served};

use crate::followers::Followers;
use crate::settings::Settings;

/// What carries the pieces of a range from one invocation to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Kinesis,
    Table,
}

impl Transport {
    pub(crate) const ALL: [Self; 2] = [Self::Kinesis, Self::Table];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kinesis => "Kinesis",
            Self::Table => "a table's stream",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// From the POST to the last delivery, in milliseconds.
    pub(crate) last_ms: f64,
    /// Hand-overs that the last in line had to wait for.
    pub(crate) hops: u32,
    pub(crate) invocations: u64,
    /// Which followers each invocation served: number of the first, and of the one behind the last.
    pub(crate) served: Vec<(u64, u64)>,
}

/// A piece of the range on its way.
#[derive(Clone, Copy, Debug)]
struct Page {
    range: FollowerRange,
    depth: u32,
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    /// A lane gets a page that was found in its shard.
    Found(Page),
    /// A lane's invocation is over.
    Done(Page),
}

struct Event {
    at_ms: f64,
    /// Breaks ties, so that a run can be repeated.
    number: u64,
    lane: usize,
    happening: Happening,
}

/// The earliest is the greatest, because a heap gives that one first.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        let later = other.at_ms.total_cmp(&self.at_ms);
        later.then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

#[derive(Default)]
struct Lane {
    waiting: VecDeque<Page>,
    is_busy: bool,
    /// It stands in the queue for an execution.
    is_queued: bool,
}

/// A shard that is asked for records every so often, each at a moment of its own.
#[derive(Clone, Copy)]
struct Poll {
    phase_ms: f64,
    period_ms: f64,
}

impl Poll {
    fn new(period_ms: f64, random: &mut Rng) -> Self {
        Self {
            phase_ms: random.f64() * period_ms,
            period_ms,
        }
    }

    /// When a record that is put at this moment is found.
    fn after(self, ms: f64) -> f64 {
        if self.period_ms <= 0.0 {
            return ms;
        }
        let polls = ((ms - self.phase_ms) / self.period_ms).ceil();
        self.phase_ms + polls * self.period_ms
    }
}

struct Simulation<'a> {
    followers: &'a Followers,
    settings: &'a Settings,
    random: Rng,
    polls: Vec<Poll>,
    lanes: Vec<Lane>,
    events: BinaryHeap<Event>,
    /// Lanes that have a page and wait for an execution.
    queue: VecDeque<usize>,
    running: usize,
    told: u64,
    /// When the cache has taken everything that was given to it so far.
    cache_free_ms: f64,
    outcome: Outcome,
}

/// Runs one fan-out to its end.
pub(crate) fn simulate(
    followers: &Followers,
    transport: Transport,
    settings: &Settings,
    seed: u64,
) -> Outcome {
    let mut random = Rng::with_seed(seed);
    let (shards, period_ms) = match transport {
        Transport::Kinesis => (settings.kinesis_shards, settings.kinesis_poll_ms),
        Transport::Table => (settings.table_shards, settings.table_poll_ms),
    };
    let tweets = Poll::new(settings.table_poll_ms, &mut random);
    let created = Poll::new(settings.kinesis_poll_ms, &mut random);
    let polls = (0..shards).map(|_| Poll::new(period_ms, &mut random));
    let polls = polls.collect();
    let lanes = (0..shards * settings.parallel_batches).map(|_| Lane::default());
    let mut simulation = Simulation {
        followers,
        settings,
        random,
        polls,
        lanes: lanes.collect(),
        events: BinaryHeap::new(),
        queue: VecDeque::new(),
        running: 0,
        told: 0,
        cache_free_ms: 0.0,
        outcome: Outcome {
            last_ms: 0.0,
            hops: 0,
            invocations: 0,
            served: Vec::new(),
        },
    };
    let Some(last) = followers.last() else {
        return simulation.outcome;
    };
    // The tweet is found in its table's stream, passed on to Kinesis, and found there.
    let passed_on = tweets.after(0.0) + settings.invocation_ms;
    let started = created.after(passed_on);
    let first = Page {
        range: FollowerRange::up_to(last),
        depth: 0,
    };
    let done = simulation.begin(started, first);
    simulation.finish(done, first);
    simulation.run();
    simulation.outcome
}

impl Simulation<'_> {
    fn run(&mut self) {
        while let Some(event) = self.events.pop() {
            let lane = event.lane;
            match event.happening {
                Happening::Found(page) => {
                    self.lanes[lane].waiting.push_back(page);
                }
                Happening::Done(page) => {
                    self.running -= 1;
                    self.lanes[lane].is_busy = false;
                    self.finish(event.at_ms, page);
                }
            }
            self.stand_in_line(lane);
            self.start_waiting(event.at_ms);
        }
    }

    fn stand_in_line(&mut self, lane: usize) {
        let one = &mut self.lanes[lane];
        if !one.is_busy && !one.is_queued && !one.waiting.is_empty() {
            one.is_queued = true;
            self.queue.push_back(lane);
        }
    }

    fn start_waiting(&mut self, now_ms: f64) {
        while self.running < self.settings.concurrency
            && let Some(lane) = self.queue.pop_front()
        {
            let one = &mut self.lanes[lane];
            one.is_queued = false;
            let Some(page) = one.waiting.pop_front() else {
                continue;
            };
            one.is_busy = true;
            self.running += 1;
            let done = self.begin(now_ms, page);
            self.tell(done, lane, Happening::Done(page));
        }
    }

    fn tell(&mut self, at_ms: f64, lane: usize, happening: Happening) {
        self.told += 1;
        self.events.push(Event {
            at_ms,
            number: self.told,
            lane,
            happening,
        });
    }

    /// The followers that an invocation serves of its page: number of the first, and of the one behind the last.
    fn share(&self, page: Page) -> (u64, u64) {
        let (first, end) = self.followers.within(page.range);
        (first, end.min(first + self.settings.page_size))
    }

    /// When an invocation that starts now is over.
    fn begin(&mut self, now_ms: f64, page: Page) -> f64 {
        let (first, end) = self.share(page);
        let count = (end - first) as f64;
        let alone = self.settings.invocation_ms + count * self.settings.follower_micros / 1e3;
        let cache_ms = self
            .settings
            .cache_rate
            .map_or(0.0, |rate| count * 1e3 / rate);
        self.cache_free_ms = self.cache_free_ms.max(now_ms) + cache_ms;
        (now_ms + alone).max(self.cache_free_ms)
    }

    /// Counts what was served, and hands over the rest.
    fn finish(&mut self, now_ms: f64, page: Page) {
        let (first, end) = self.share(page);
        self.outcome.invocations += 1;
        if first == end {
            return;
        }
        self.outcome.served.push((first, end));
        self.outcome.last_ms = self.outcome.last_ms.max(now_ms);
        self.outcome.hops = self.outcome.hops.max(page.depth);
        let is_full = end - first == self.settings.page_size;
        let last = self.followers.id(end - 1);
        let Some(rest) = page.range.rest_after(last).filter(|_| is_full) else {
            return;
        };
        let served = Served {
            count: end - first,
            first: self.followers.id(first),
        };
        // Only the first page knows how many followers the author has; a piece knows that it has no more.
        let others = self.followers.count - served.count;
        let left = if page.depth == 0 {
            Left::About(others)
        } else {
            Left::AtMost(others)
        };
        for range in served.cut(rest, left, self.settings.page_size) {
            let shard = self.random.usize(..self.polls.len());
            let batches = self.settings.parallel_batches;
            let lane = shard * batches + self.random.usize(..batches);
            let found = self.polls[shard].after(now_ms);
            let depth = page.depth + 1;
            self.tell(found, lane, Happening::Found(Page { range, depth }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::followers::Spread;

    fn settings(changes: &[(&str, &str)]) -> Settings {
        let change = |name: &str| {
            let found = changes.iter().find(|(changed, _)| *changed == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Settings::from(change).expect("settings")
    }

    fn run(count: u64, spread: Spread, changes: &[(&str, &str)]) -> Outcome {
        let followers = Followers::new(count, spread);
        simulate(&followers, Transport::Kinesis, &settings(changes), 7)
    }

    #[test]
    fn everybody_is_served_once_whatever_carries_the_pieces() {
        for transport in Transport::ALL {
            for spread in Spread::ALL {
                for count in [1, 4_999, 5_000, 5_001, 1_000_000] {
                    let followers = Followers::new(count, spread);
                    let mut served = simulate(&followers, transport, &settings(&[]), 7).served;
                    served.sort_unstable();
                    let mut next = 0;
                    for (first, end) in served {
                        assert_eq!(first, next, "{count} {spread:?} {transport:?}");
                        next = end;
                    }
                    assert_eq!(next, count, "{spread:?} {transport:?}");
                }
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_run_and_another_one_does_not() {
        let followers = Followers::new(200_000, Spread::Evenly);
        let with = |seed| simulate(&followers, Transport::Kinesis, &settings(&[]), seed);
        assert_eq!(with(3), with(3));
        assert_ne!(with(3), with(4));
    }

    #[test]
    fn a_million_followers_take_three_hops_at_most_however_ids_lie() {
        for spread in Spread::ALL {
            let outcome = run(1_000_000, spread, &[]);
            assert!(outcome.hops <= 3, "{spread:?}: {} hops", outcome.hops);
        }
    }

    #[test]
    fn a_page_of_followers_needs_no_hand_over() {
        let outcome = run(5_000, Spread::Evenly, &[]);
        assert_eq!((outcome.hops, outcome.invocations), (0, 1));
        // At most a wait for the table's stream and one for Kinesis, and two invocations.
        assert!(outcome.last_ms <= 250.0 + 1_000.0 + 2.0 * 25.0 + 44.0);
    }

    #[test]
    fn without_waiting_for_polls_one_lane_takes_the_time_of_its_work() {
        let changes = [
            ("KINESIS_POLL_MS", "0"),
            ("TABLE_POLL_MS", "0"),
            ("PARALLEL_BATCHES", "1"),
        ];
        let outcome = run(100_000, Spread::Evenly, &changes);
        let work = 100_000.0 * 8.8e-3 + (outcome.invocations + 1) as f64 * 25.0;
        assert!((outcome.last_ms - work).abs() < 25.5, "{outcome:?}");
    }

    #[test]
    fn executions_and_the_cache_limit_how_fast_it_goes() {
        let wide = [("SHARDS", "10"), ("PARALLEL_BATCHES", "10")];
        let free = run(1_000_000, Spread::Evenly, &wide).last_ms;
        let one = [wide[0], wide[1], ("CONCURRENCY", "1")];
        assert!(run(1_000_000, Spread::Evenly, &one).last_ms > free * 3.0);
        let throttled = [wide[0], wide[1], ("CACHE_RATE", "50000")];
        let throttled = run(1_000_000, Spread::Evenly, &throttled).last_ms;
        // Twenty seconds for a million, and the wait before the first one.
        assert!((20_000.0..21_500.0).contains(&throttled), "{throttled}");
    }
}
