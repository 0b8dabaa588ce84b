//! What happens to a batch: a state machine without a clock, a network or a function, so that retry, bisect, partial
//! failure and giving up can be tested as plain data.
//!
//! A [`Delivery`] is a queue of chunks of one batch. The front chunk is what the function gets next; nothing behind it
//! moves before it is done or discarded, which is what keeps a shard's order.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use serde_json::Value;

/// How an event source treats failures.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Policy {
    /// Retries after the first attempt; `None` is without end.
    pub(crate) max_retries: Option<u64>,
    pub(crate) max_age: Option<Duration>,
    /// Cut a failed batch in two before it is tried again.
    pub(crate) bisect: bool,
    /// Whether the function's answer names the records that failed.
    pub(crate) reports_failures: bool,
}

/// How one invocation ended, in positions of the batch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Succeeded,
    /// Everything before this position is done; from here on it is tried again.
    FailedFrom(usize),
    Failed,
}

/// Why records were given up; the words are those of AWS.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Condition {
    RetryAttemptsExhausted,
    RecordAgeExceeded,
}

impl Condition {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RetryAttemptsExhausted => "RetryAttemptsExhausted",
            Self::RecordAgeExceeded => "RecordAgeExceeded",
        }
    }
}

/// Records that go to the failure destination.
#[derive(Debug, PartialEq)]
pub(crate) struct Discarded {
    pub(crate) records: Range<usize>,
    pub(crate) condition: Condition,
    /// How often they were given to the function.
    pub(crate) invocations: u64,
}

/// Records that are delivered together, and how often that has failed.
#[derive(Debug, Clone, PartialEq)]
struct Chunk {
    records: Range<usize>,
    failures: u64,
}

/// One batch on its way to the function.
#[derive(Debug)]
pub(crate) struct Delivery {
    policy: Policy,
    chunks: VecDeque<Chunk>,
}

impl Delivery {
    pub(crate) fn new(policy: Policy, batch_size: usize) -> Self {
        let whole = Chunk {
            records: 0..batch_size,
            failures: 0,
        };
        Self {
            policy,
            chunks: VecDeque::from([whole]),
        }
    }

    /// The records of the next invocation and how often they have failed; `None` if the batch is done.
    pub(crate) fn next(&mut self) -> Option<(Range<usize>, u64)> {
        while self
            .chunks
            .front()
            .is_some_and(|chunk| chunk.records.is_empty())
        {
            self.chunks.pop_front();
        }
        self.chunks
            .front()
            .map(|chunk| (chunk.records.clone(), chunk.failures))
    }

    /// Takes the records at the front that are too old, `age` being the age of the record at a position.
    pub(crate) fn expire(&mut self, age: impl Fn(usize) -> Duration) -> Option<Discarded> {
        let limit = self.policy.max_age?;
        let chunk = self.chunks.front_mut()?;
        let expired = chunk
            .records
            .clone()
            .take_while(|&position| age(position) > limit)
            .count();
        if expired == 0 {
            return None;
        }
        let records = chunk.records.start..chunk.records.start + expired;
        chunk.records.start = records.end;
        Some(Discarded {
            records,
            condition: Condition::RecordAgeExceeded,
            invocations: chunk.failures,
        })
    }

    /// Takes the outcome of the invocation that [`Self::next`] asked for; returns what was given up by it.
    pub(crate) fn apply(&mut self, outcome: &Outcome) -> Option<Discarded> {
        let mut chunk = self.chunks.pop_front()?;
        let whole_chunk_failed = match outcome {
            Outcome::Succeeded => return None,
            Outcome::FailedFrom(position) if chunk.records.contains(position) => {
                // Records got through, so this is a new and shorter batch, whose first record failed once.
                if *position > chunk.records.start {
                    chunk = Chunk {
                        records: *position..chunk.records.end,
                        failures: 0,
                    };
                }
                false
            }
            Outcome::FailedFrom(_) | Outcome::Failed => true,
        };
        chunk.failures += 1;
        if whole_chunk_failed && self.policy.bisect && chunk.records.len() > 1 {
            // Splitting does not count against the retries, as at AWS: each half starts anew.
            let middle = chunk.records.start + chunk.records.len() / 2;
            self.chunks.push_front(Chunk {
                records: middle..chunk.records.end,
                failures: 0,
            });
            self.chunks.push_front(Chunk {
                records: chunk.records.start..middle,
                failures: 0,
            });
            return None;
        }
        if self
            .policy
            .max_retries
            .is_some_and(|limit| chunk.failures > limit)
        {
            let condition = Condition::RetryAttemptsExhausted;
            return Some(Discarded {
                records: chunk.records,
                condition,
                invocations: chunk.failures,
            });
        }
        self.chunks.push_front(chunk);
        None
    }
}

/// Pause before a retry: doubling from 50 ms, at most 1.6 s. AWS waits longer; a developer does not want to.
pub(crate) fn backoff(failures: u64) -> Duration {
    let doublings = u32::try_from(failures.saturating_sub(1))
        .unwrap_or(u32::MAX)
        .min(5);
    Duration::from_millis(50 << doublings)
}

/// Reads the answer of a function that reports failed records. `sequences` are those that it was given, the first of
/// which is at position `first` of the batch.
pub(crate) fn read_answer(answer: &[u8], sequences: &[&str], first: usize) -> Outcome {
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
        return if answer.is_empty() {
            Outcome::Succeeded
        } else {
            Outcome::Failed
        };
    };
    let failures = match answer {
        Value::Null => return Outcome::Succeeded,
        Value::Object(ref object) => match object.get("batchItemFailures") {
            None | Some(Value::Null) => return Outcome::Succeeded,
            Some(Value::Array(failures)) => failures,
            Some(_) => return Outcome::Failed,
        },
        _ => return Outcome::Failed,
    };
    let mut lowest: Option<usize> = None;
    for failure in failures {
        // One identifier that is missing, empty or not of this batch fails the whole batch.
        let position = failure["itemIdentifier"]
            .as_str()
            .and_then(|id| sequences.iter().position(|one| *one == id));
        match position {
            Some(position) => lowest = Some(lowest.map_or(position, |lowest| lowest.min(position))),
            None => return Outcome::Failed,
        }
    }
    lowest.map_or(Outcome::Succeeded, |position| {
        Outcome::FailedFrom(first + position)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(max_retries: Option<u64>, bisect: bool, size: usize) -> Delivery {
        Delivery::new(
            Policy {
                max_retries,
                max_age: None,
                bisect,
                reports_failures: true,
            },
            size,
        )
    }

    #[test]
    fn a_batch_that_succeeds_is_through() {
        let mut delivery = delivery(Some(0), false, 3);
        assert_eq!(delivery.next(), Some((0..3, 0)));
        assert_eq!(delivery.apply(&Outcome::Succeeded), None);
        assert_eq!(delivery.next(), None);
    }

    #[test]
    fn a_failed_batch_is_retried_as_often_as_allowed_and_then_discarded_whole() {
        let mut delivery = delivery(Some(2), false, 3);
        for failures in 0..2 {
            assert_eq!(delivery.next(), Some((0..3, failures)));
            assert_eq!(delivery.apply(&Outcome::Failed), None);
        }
        let discarded = delivery.apply(&Outcome::Failed);
        let condition = Condition::RetryAttemptsExhausted;
        assert_eq!(
            discarded,
            Some(Discarded {
                records: 0..3,
                condition,
                invocations: 3
            })
        );
        assert_eq!(delivery.next(), None);
    }

    #[test]
    fn without_a_limit_it_is_retried_for_ever() {
        let mut delivery = delivery(None, false, 1);
        for _ in 0..1000 {
            assert_eq!(delivery.apply(&Outcome::Failed), None);
        }
        assert_eq!(delivery.next(), Some((0..1, 1000)));
    }

    #[test]
    fn a_partial_failure_goes_on_from_the_lowest_failed_record() {
        let mut delivery = delivery(Some(1), true, 10);
        assert_eq!(delivery.apply(&Outcome::FailedFrom(4)), None);
        assert_eq!(
            delivery.next(),
            Some((4..10, 1)),
            "what came before is done"
        );
        assert_eq!(
            delivery.apply(&Outcome::FailedFrom(7)),
            None,
            "progress: the count starts again"
        );
        assert_eq!(delivery.next(), Some((7..10, 1)));
        let discarded = delivery
            .apply(&Outcome::FailedFrom(7))
            .expect("no progress, and no retries left");
        assert_eq!((discarded.records, discarded.invocations), (7..10, 2));
    }

    #[test]
    fn bisecting_isolates_the_bad_record_and_keeps_the_order() {
        let mut delivery = delivery(Some(1), true, 8);
        let (mut done, mut discarded) = (vec![], vec![]);
        while let Some((records, _)) = delivery.next() {
            let outcome = if records.contains(&5) {
                Outcome::Failed
            } else {
                Outcome::Succeeded
            };
            if outcome == Outcome::Succeeded {
                done.extend(records);
            }
            discarded.extend(
                delivery
                    .apply(&outcome)
                    .into_iter()
                    .flat_map(|discarded| discarded.records),
            );
        }
        assert_eq!(done, [0, 1, 2, 3, 4, 6, 7]);
        assert_eq!(discarded, [5]);
    }

    #[test]
    fn records_that_are_too_old_are_discarded_before_they_are_tried() {
        let policy = Policy {
            max_age: Some(Duration::from_secs(60)),
            ..Policy::default()
        };
        let mut delivery = Delivery::new(policy, 3);
        let ages = [90, 61, 60].map(Duration::from_secs);
        let expired = delivery
            .expire(|position| ages[position])
            .expect("two of them");
        assert_eq!(
            (expired.records, expired.condition),
            (0..2, Condition::RecordAgeExceeded)
        );
        assert_eq!(delivery.next(), Some((2..3, 0)));
        assert_eq!(
            delivery
                .expire(|_| Duration::from_secs(61))
                .map(|expired| expired.records),
            Some(2..3)
        );
        assert_eq!(delivery.next(), None);
    }

    #[test]
    fn answers_are_read_as_aws_reads_them() {
        let read = |answer: &str| read_answer(answer.as_bytes(), &["a", "b", "c"], 10);
        for success in [
            "",
            "null",
            "{}",
            r#"{"batchItemFailures":null}"#,
            r#"{"batchItemFailures":[]}"#,
        ] {
            assert_eq!(read(success), Outcome::Succeeded, "{success}");
        }
        assert_eq!(
            read(r#"{"batchItemFailures":[{"itemIdentifier":"c"},{"itemIdentifier":"b"}]}"#),
            Outcome::FailedFrom(11),
            "the lowest one counts"
        );
        for malformed in [
            "[]",
            "5",
            "no json",
            r#"{"batchItemFailures":"b"}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":null}]}"#,
            r#"{"batchItemFailures":[{"id":"b"}]}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":"z"}]}"#,
        ] {
            assert_eq!(read(malformed), Outcome::Failed, "{malformed}");
        }
    }

    #[test]
    fn pauses_grow_and_stay_short() {
        let pauses = [1, 2, 3, 6, 100].map(|failures| backoff(failures).as_millis());
        assert_eq!(pauses, [50, 100, 200, 1600, 1600]);
    }
}
