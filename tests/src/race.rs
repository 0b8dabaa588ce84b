//! Races, driven step by step instead of left to luck.
//!
//! Each party of a race runs real functions. Everything they ask of Redis and DynamoDB goes through gates, one command at a
//! time. A request that can disturb another party is *contested*: it waits at its gate until the driver lets it through.
//! So one run of a [`Race`] is one interleaving of the parties' contested requests. [`Interleavings`] goes through all of
//! them: it repeats the run, and each time changes the last choice that can still be changed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::patience::stretched;
use crate::proxy::{self, Answer, Door};

/// How long a party may take from one contested request to the next.
const STEP_LIMIT: Duration = Duration::from_secs(10);

/// Functions give Redis half a second to answer. In a race that takes longer than this, a function may have given up on
/// Redis and done something else than the schedule says.
const RACE_LIMIT: Duration = Duration::from_millis(400);

/// How often one interleaving is tried on a machine that is too slow at first.
const ATTEMPTS: usize = 40;

/// Long enough for a function to trust Redis again after a race that took too long.
const RECOVERY: Duration = Duration::from_millis(700);

/// What a request means for the other parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contest {
    /// Nothing: it passes.
    No,
    /// It is a step.
    Yes,
    /// It passes, and shows that its party waits for another one by asking again and again. The race goes on without it.
    Waits,
}

impl From<bool> for Contest {
    fn from(contested: bool) -> Self {
        if contested { Self::Yes } else { Self::No }
    }
}

/// Decides for a party, its request, and how often it made the same request before.
type Contested = dyn Fn(usize, &str, usize) -> Contest + Send + Sync;

/// Where parties meet. Gates are made once, and used by one race after the other.
#[derive(Clone, Default)]
pub struct Stage(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    /// `None` between races: everything passes.
    contested: Option<Arc<Contested>>,
    /// What waits at the gates, by party.
    waiting: Vec<Vec<Waiting>>,
    finished: Vec<bool>,
    /// Which parties wait for another party.
    waits: Vec<bool>,
    /// How often each party asked for what: the command and its key.
    asked: HashMap<(usize, String), usize>,
    permitted: Option<u64>,
    last_ticket: u64,
}

struct Waiting {
    ticket: u64,
    text: String,
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").finish_non_exhaustive()
    }
}

impl Stage {
    /// URLs of Redis and DynamoDB for the functions of one party.
    pub fn gates(&self, party: usize, redis: &str, dynamodb: &str) -> (String, String) {
        let door = || -> Door {
            let stage = self.clone();
            Arc::new(move |text, exchange| {
                let ticket = stage.enter(party, text);
                let done = exchange(Answer::Whole);
                stage.leave(ticket);
                done
            })
        };
        (
            proxy::before_redis(redis, door()),
            proxy::before_dynamodb(dynamodb, door()),
        )
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let limit = Duration::from_millis(100);
        let woken = self.0.1.wait_timeout(state, limit);
        woken.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits for the permission that a contested request needs.
    fn enter(&self, party: usize, text: &str) -> Option<u64> {
        let mut state = self.state();
        // A party that is not in this race passes.
        let contested = state.contested.clone()?;
        if party >= state.waiting.len() {
            return None;
        }
        let what: Vec<&str> = text.split(' ').take(2).collect();
        let times = state.asked.entry((party, what.join(" "))).or_default();
        let before = *times;
        *times += 1;
        match contested(party, text, before) {
            Contest::No => return None,
            Contest::Yes => state.waits[party] = false,
            Contest::Waits => {
                state.waits[party] = true;
                self.0.1.notify_all();
                return None;
            }
        }
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        state.waiting[party].push(Waiting {
            ticket,
            text: text.to_owned(),
        });
        self.0.1.notify_all();
        while state.contested.is_some() && state.permitted != Some(ticket) {
            state = self.wait(state);
        }
        Some(ticket)
    }

    fn leave(&self, ticket: Option<u64>) {
        let mut state = self.state();
        if ticket.is_some() && state.permitted == ticket {
            state.permitted = None;
            self.0.1.notify_all();
        }
    }

    /// Something that a party does itself, as one of its steps.
    pub fn step(&self, party: usize, text: &str, work: impl FnOnce()) {
        let ticket = self.enter(party, text);
        work();
        self.leave(ticket);
    }
}

/// One contested request that was let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub party: usize,
    pub text: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.text.chars().take(110).collect();
        write!(f, "{} {}", ["A", "B", "C", "D"][self.party], text)
    }
}

/// What one party does, from beginning to end.
pub type Party<T> = Box<dyn FnOnce() -> T + Send>;

/// One run: parties that are under way.
pub struct Race<'a, T> {
    stage: &'a Stage,
    interleavings: &'a mut Interleavings,
    parties: Vec<JoinHandle<T>>,
    steps: Vec<Step>,
    started: Instant,
}

/// Says that a party has ended, also if it panics.
struct Finish(Stage, usize);

impl Drop for Finish {
    fn drop(&mut self) {
        if let Some(finished) = self.0.state().finished.get_mut(self.1) {
            *finished = true;
        }
        self.0.0.1.notify_all();
    }
}

impl<'a, T: Send + 'static> Race<'a, T> {
    pub fn start<C: Into<Contest>>(
        stage: &'a Stage,
        interleavings: &'a mut Interleavings,
        contested: impl Fn(usize, &str, usize) -> C + Send + Sync + 'static,
        parties: Vec<Party<T>>,
    ) -> Self {
        let mut state = stage.state();
        state.contested = Some(Arc::new(move |party, text: &str, before| {
            contested(party, text, before).into()
        }));
        state.waiting = parties.iter().map(|_| Vec::new()).collect();
        state.finished = vec![false; parties.len()];
        state.waits = vec![false; parties.len()];
        state.asked.clear();
        state.permitted = None;
        drop(state);
        let run = |(number, party): (usize, Party<T>)| {
            let finish = Finish(stage.clone(), number);
            thread::spawn(move || {
                let _finish = finish;
                party()
            })
        };
        Self {
            stage,
            interleavings,
            parties: parties.into_iter().enumerate().map(run).collect(),
            steps: Vec::new(),
            started: Instant::now(),
        }
    }

    /// Lets the next request through, as the schedule says, and waits until it has been answered. `None` when all parties
    /// have ended.
    pub fn step(&mut self) -> Option<&Step> {
        let started = Instant::now();
        let mut state = self.stage.state();
        let enabled: Vec<usize> = loop {
            let at_gate = |party: usize| !state.waiting[party].is_empty();
            let enabled: Vec<usize> = (0..self.parties.len()).filter(|n| at_gate(*n)).collect();
            // The race waits for a party that itself waits for another one only if no other party is at a gate.
            let undecided = (0..self.parties.len())
                .filter(|n| !at_gate(*n) && !state.finished[*n])
                .any(|n| !state.waits[n] || enabled.is_empty());
            if !undecided {
                break enabled;
            }
            assert!(
                started.elapsed() < stretched(STEP_LIMIT),
                "a party neither goes on nor ends after{}",
                self.trace()
            );
            state = self.stage.wait(state);
        };
        if enabled.is_empty() {
            return None;
        }
        let party = enabled[self.interleavings.choose(enabled.len())];
        let Waiting { ticket, text } = state.waiting[party].remove(0);
        state.permitted = Some(ticket);
        self.stage.0.1.notify_all();
        while state.permitted == Some(ticket) {
            state = self.stage.wait(state);
        }
        self.steps.push(Step { party, text });
        self.steps.last()
    }

    /// What happened so far.
    pub fn trace(&self) -> String {
        self.steps
            .iter()
            .map(|step| format!("\n  {step}"))
            .collect()
    }

    /// Ends the race. Gives what the parties answered, and whether the run was in time. If not, a function may have given up
    /// on Redis, so the run did not follow the schedule and is repeated.
    pub fn finish(mut self) -> (Vec<T>, bool) {
        while self.step().is_some() {}
        self.stage.state().contested = None;
        let in_time = self.started.elapsed() < RACE_LIMIT;
        self.interleavings.ran(in_time);
        let parties = self.parties.drain(..);
        let answers = parties.map(|party| party.join().expect("a party that does not panic"));
        (answers.collect(), in_time)
    }
}

/// All the ways in which parties can take turns, one after the other.
#[derive(Debug, Default)]
pub struct Interleavings {
    /// At each point with a choice: which was taken, of how many.
    path: Vec<(usize, usize)>,
    depth: usize,
    attempts: usize,
    /// Runs that went as they should.
    pub runs: usize,
    /// Do all parties do the same?
    alike: bool,
}

impl Interleavings {
    /// Of parties that do the same. It makes no difference which one begins, so only the first one does.
    pub fn of_parties_alike() -> Self {
        Self {
            alike: true,
            ..Self::default()
        }
    }

    fn choose(&mut self, mut of: usize) -> usize {
        if of == 1 {
            return 0;
        }
        if self.alike && self.depth == 0 {
            of = 1;
        }
        if self.depth == self.path.len() {
            self.path.push((0, of));
        }
        let (taken, _) = self.path[self.depth];
        self.depth += 1;
        taken.min(of - 1)
    }

    fn ran(&mut self, in_time: bool) {
        if in_time {
            (self.runs, self.attempts) = (self.runs + 1, 0);
        } else {
            self.attempts += 1;
            assert!(
                self.attempts < ATTEMPTS,
                "this machine is too slow to drive a race within {RACE_LIMIT:?}"
            );
            thread::sleep(RECOVERY);
        }
    }

    /// Prepares the next run; false if there is none left.
    pub fn advance(&mut self) -> bool {
        let again = self.attempts > 0;
        if self.runs > 0 && !again {
            self.path.truncate(self.depth);
            while self.path.last().is_some_and(|(taken, of)| taken + 1 == *of) {
                self.path.pop();
            }
            let Some((taken, _)) = self.path.last_mut() else {
                return false;
            };
            *taken += 1;
        }
        self.depth = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_order_of_two_parties_steps_is_run_once() {
        let stage = Stage::default();
        let mut interleavings = Interleavings::default();
        let mut seen = BTreeSet::new();
        while interleavings.advance() {
            let party = |number: usize, steps: usize| -> Party<()> {
                let stage = stage.clone();
                Box::new(move || {
                    for n in 0..steps {
                        stage.step(number, &format!("step {n}"), || {});
                    }
                })
            };
            let parties = vec![party(0, 3), party(1, 2)];
            let mut race = Race::start(&stage, &mut interleavings, |_, _, _| true, parties);
            let mut order = String::new();
            while let Some(step) = race.step() {
                order.push_str(&step.to_string());
            }
            race.finish();
            assert!(seen.insert(order), "the same order twice");
        }
        // Two of five places.
        assert_eq!((seen.len(), interleavings.runs), (10, 10));
    }
}
