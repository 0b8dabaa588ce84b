//! Event source mappings: what reads a stream and calls a function with batches of it, as Lambda's pollers do.
//!
//! Per mapping and shard there is one reader, which passes what the filter lets through to as many lanes as the
//! parallelization factor says ([`lanes`]). When it reads is decided in [`pace`], and what becomes of a batch in
//! [`delivery`].

pub(crate) mod delivery;
mod dynamodb;
mod failure;
pub(crate) mod filter;
mod kinesis;
mod lanes;
mod pace;
mod record;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use chrono::Utc;
use uuid::Uuid;

use self::delivery::{Delivery, Discarded, Outcome, backoff, read_answer};
use self::dynamodb::TableShard;
use self::failure::Destination;
use self::kinesis::StreamShard;
use self::lanes::{Exit, Lanes};
use self::pace::Pace;
use self::record::{Record, event};
use crate::data::{DynamoDb, Kinesis};
use crate::lambda::{Function, Trigger};
use crate::output::{complain, say};
use crate::template::{EventSource, Source};

/// Records that one look at a stream takes at most.
const PAGE: usize = 1_000;
/// Lambda's limit on an event.
const MAX_EVENT_BYTES: usize = 6 * 1024 * 1024;
/// Before a stream that could not be read is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// How often Lambda asks a shard of Kinesis.
const KINESIS_POLL: Duration = Duration::from_secs(1);
/// How often Lambda asks a shard of a table's stream.
const TABLE_POLL: Duration = Duration::from_millis(250);

/// Starts the pollers of one event source. They run until the process ends. They keep Lambda's pace if `polls`, and are
/// woken by writers if not.
pub(crate) fn start(
    function: &Arc<Function>,
    mapping: &EventSource,
    dynamodb: &DynamoDb,
    kinesis: &Kinesis,
    state: &Path,
    polls: bool,
) -> Result<(), String> {
    let mapping_id = Uuid::new_v4();
    let shards: Vec<(Shard, Pace)> = match &mapping.source {
        Source::Table { name } => {
            let partition_key = dynamodb.partition_key(name);
            let shard = TableShard::open(
                dynamodb.database.clone(),
                name,
                partition_key,
                &mapping.arn,
                mapping.from_latest,
            )?;
            let pace = if polls {
                Pace::polled(TABLE_POLL)
            } else {
                Pace::Woken(dynamodb.written.subscribe())
            };
            vec![(Shard::Table(shard), pace)]
        }
        Source::Stream { name, pushes } => (0..kinesis.shard_count(name))
            .map(|index| {
                let shard = StreamShard::open(kinesis.store.clone(), name, &mapping.arn, index);
                let pace = if polls && !pushes {
                    Pace::polled(KINESIS_POLL)
                } else {
                    Pace::Woken(kinesis.written.subscribe())
                };
                (Shard::Stream(Box::new(shard)), pace)
            })
            .collect(),
    };
    for (shard, pace) in shards {
        let destination = mapping.failure_bucket.as_ref().map(|bucket| Destination {
            state: state.to_owned(),
            bucket: bucket.clone(),
            mapping: mapping_id,
            function_arn: function.arn.clone(),
            source: mapping.source.clone(),
            stream_arn: mapping.arn.clone(),
            shard: shard.id().to_owned(),
        });
        let (lanes, exits) = Lanes::new(mapping.parallelization);
        for exit in exits {
            let lane = Lane {
                function: Arc::clone(function),
                mapping: mapping.clone(),
                destination: destination.clone(),
                exit,
            };
            tokio::spawn(lane.run());
        }
        tokio::spawn(read(shard, pace, mapping.clone(), lanes));
    }
    Ok(())
}

enum Shard {
    Table(TableShard),
    Stream(Box<StreamShard>),
}

impl Shard {
    fn id(&self) -> &str {
        match self {
            Self::Table(shard) => &shard.id,
            Self::Stream(shard) => &shard.id,
        }
    }

    async fn read(&mut self) -> Result<Vec<Record>, String> {
        match self {
            Self::Table(shard) => shard.read(PAGE),
            Self::Stream(shard) => Ok(shard.read(PAGE).await),
        }
    }
}

async fn read(mut shard: Shard, mut pace: Pace, mapping: EventSource, lanes: Lanes) {
    loop {
        pace.about_to_read();
        match shard.read().await {
            Ok(records) => {
                let found = records.len();
                for record in records
                    .into_iter()
                    .filter(|record| passes(&mapping, record))
                {
                    lanes.send(record);
                }
                pace.next(found, PAGE, &lanes).await;
            }
            Err(error) => {
                say(format!("cannot read {}: {error}", mapping.arn));
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn passes(mapping: &EventSource, record: &Record) -> bool {
    match &mapping.source {
        _ if mapping.filter.is_empty() => true,
        Source::Table { .. } => mapping.filter.matches(&record.event),
        Source::Stream { .. } => mapping.filter.matches(&kinesis::filter_view(&record.event)),
    }
}

/// The records of one shard that must stay in order, one batch at a time.
struct Lane {
    function: Arc<Function>,
    mapping: EventSource,
    destination: Option<Destination>,
    exit: Exit,
}

impl Lane {
    async fn run(mut self) {
        let mut waiting = VecDeque::new();
        while self.fill(&mut waiting).await {
            let batch = take_batch(&mut waiting, self.mapping.batch_size);
            self.deliver(&batch).await;
            self.exit.done(batch.len());
        }
    }

    /// Waits for the first record, then, within the batching window, for a full batch. False if no record will ever come.
    async fn fill(&mut self, waiting: &mut VecDeque<Record>) -> bool {
        let mut page = Vec::new();
        let missing = self.mapping.batch_size.saturating_sub(waiting.len());
        if waiting.is_empty() && self.exit.records.recv_many(&mut page, missing).await == 0 {
            return false;
        }
        waiting.extend(page.drain(..));
        let window_ends = tokio::time::Instant::now() + self.mapping.batching_window;
        while waiting.len() < self.mapping.batch_size && !self.mapping.batching_window.is_zero() {
            let missing = self.mapping.batch_size - waiting.len();
            match tokio::time::timeout_at(
                window_ends,
                self.exit.records.recv_many(&mut page, missing),
            )
            .await
            {
                Ok(received) if received > 0 => waiting.extend(page.drain(..)),
                _ => break,
            }
        }
        true
    }

    async fn deliver(&self, batch: &[Record]) {
        let mut delivery = Delivery::new(self.mapping.policy.clone(), batch.len());
        loop {
            let now_ms = u64::try_from(Utc::now().timestamp_millis()).unwrap_or_default();
            let age = |position: usize| {
                Duration::from_millis(now_ms.saturating_sub(batch[position].arrived_ms))
            };
            if let Some(expired) = delivery.expire(age) {
                self.discard(&expired, batch).await;
            }
            let Some((records, failures)) = delivery.next() else {
                return;
            };
            if failures > 0 {
                tokio::time::sleep(backoff(failures)).await;
            }
            let outcome = self.invoke(&batch[records.clone()], records.start).await;
            if let Some(discarded) = delivery.apply(&outcome) {
                self.discard(&discarded, batch).await;
            }
        }
    }

    async fn invoke(&self, records: &[Record], first: usize) -> Outcome {
        let payload = Bytes::from(event(records).to_string());
        let trigger = Trigger::Stream {
            records: records.len(),
        };
        match self.function.invoke(payload, trigger, None).await {
            Ok(answer) if self.mapping.policy.reports_failures => {
                let sequences: Vec<&str> = records
                    .iter()
                    .map(|record| record.sequence.as_str())
                    .collect();
                let outcome = read_answer(&answer, &sequences, first);
                if outcome == Outcome::Failed {
                    complain(
                        &self.function.binary,
                        "answered with something else than batchItemFailures",
                    );
                }
                outcome
            }
            Ok(_) => Outcome::Succeeded,
            Err(error) => {
                complain(
                    &self.function.binary,
                    format!("failed on a batch of {}: {error}", records.len()),
                );
                Outcome::Failed
            }
        }
    }

    async fn discard(&self, discarded: &Discarded, batch: &[Record]) {
        let records = &batch[discarded.records.clone()];
        let what = format!(
            "gave up {} record(s) after {} attempt(s), {}",
            records.len(),
            discarded.invocations,
            discarded.condition.name()
        );
        let kept = match &self.destination {
            None => "they are lost, there is no OnFailure destination".to_owned(),
            Some(destination) => match destination.keep(discarded, records).await {
                Ok(file) => format!("kept in {}", file.display()),
                Err(error) => format!("they are lost, the file could not be written: {error}"),
            },
        };
        complain(&self.function.binary, format!("{what}: {kept}"));
    }
}

/// As many records as the batch size and Lambda's limit on an event allow, but at least one.
fn take_batch(waiting: &mut VecDeque<Record>, batch_size: usize) -> Vec<Record> {
    let mut batch = Vec::new();
    let mut bytes = 0;
    while let Some(record) = waiting.front() {
        bytes += record.event.to_string().len();
        if batch.len() == batch_size || (!batch.is_empty() && bytes > MAX_EVENT_BYTES) {
            break;
        }
        batch.extend(waiting.pop_front());
    }
    batch
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn waiting(sizes: &[usize]) -> VecDeque<Record> {
        let record = |size: &usize| Record {
            sequence: String::new(),
            partition: String::new(),
            arrived_ms: 0,
            event: json!("x".repeat(*size)),
        };
        sizes.iter().map(record).collect()
    }

    #[test]
    fn a_batch_ends_at_its_size_or_at_the_limit_of_an_event() {
        let mut few = waiting(&[1, 1, 1]);
        assert_eq!(take_batch(&mut few, 2).len(), 2);
        assert_eq!(take_batch(&mut few, 2).len(), 1);
        let mut large = waiting(&[
            MAX_EVENT_BYTES + 1,
            MAX_EVENT_BYTES / 2,
            MAX_EVENT_BYTES / 2,
        ]);
        assert_eq!(
            take_batch(&mut large, 10).len(),
            1,
            "one that is too large still goes alone"
        );
        assert_eq!(take_batch(&mut large, 10).len(), 1);
    }
}
