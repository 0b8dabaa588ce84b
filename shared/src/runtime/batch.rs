//! From "handle some records" to "handle a batch": in order, stopping at the first failure and reporting it.
//!
//! Lambda then delivers again from the reported record on. Everything before it is done; everything behind it was not
//! touched, so order is kept. A panic fails its record like an error does.
//!
//! If a store does not answer, the records are tried again inside the invocation, with pauses, for as long as there is
//! time. So an attempt lasts, and the attempts that Lambda grants are not used up by an outage: the age of the records
//! ends it. A record that cannot be read is reported at once. Its attempts are used up soon, and it makes way for those
//! behind it.

pub use aws_lambda_events::dynamodb::EventRecord as TableRecord;
pub use aws_lambda_events::kinesis::KinesisEventRecord as StreamRecord;
use std::ops::Range;
use std::time::Duration;

use lambda_runtime::{LambdaEvent, service_fn};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::Exit;
use super::guard::guarded;
use crate::platform::{Roost, metrics, now_millis};
use crate::stores::handovers::{HandOver, HandOverKey};
use crate::{Error, Result};

/// One consumer of a stream: what it needs, and what it does with records.
pub trait Consumer: Sized {
    /// [`TableRecord`] for the stream of a DynamoDB table, [`StreamRecord`] for a Kinesis stream, [`WorkRecord`] for work
    /// that comes by either.
    type Record: Record + Send;

    /// The most records that are handled together.
    const CHUNK: usize;

    fn new(roost: &Roost) -> Result<Self>;

    /// Gets up to [`Self::CHUNK`] consecutive records. Either all of them are done, or none counts as done.
    fn handle(&self, records: &[Self::Record]) -> impl Future<Output = Result<()>>;
}

/// A record of a stream.
pub trait Record: DeserializeOwned {
    /// What Lambda calls it.
    fn sequence_number(&self) -> &str;
}

impl Record for TableRecord {
    fn sequence_number(&self) -> &str {
        self.change.sequence_number.as_deref().unwrap_or_default()
    }
}

impl Record for StreamRecord {
    fn sequence_number(&self) -> &str {
        self.kinesis.sequence_number.as_str()
    }
}

/// A record with work for a function: handed over by a table, or on a Kinesis stream.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum WorkRecord {
    HandedOver(Box<TableRecord>),
    Streamed(Box<StreamRecord>),
}

impl Record for WorkRecord {
    fn sequence_number(&self) -> &str {
        match self {
            Self::HandedOver(record) => record.sequence_number(),
            Self::Streamed(record) => record.sequence_number(),
        }
    }
}

impl WorkRecord {
    pub fn work<T: DeserializeOwned>(&self) -> Result<T> {
        match self {
            Self::HandedOver(record) => new_image::<HandOver>(record)?.work(),
            Self::Streamed(record) => payload(record),
        }
    }

    /// What [`crate::stores::HandOvers::done`] wants to know, if it was handed over.
    pub fn handed_over(&self) -> Option<HandOverKey> {
        match self {
            Self::HandedOver(record) => key(record).ok(),
            Self::Streamed(_) => None,
        }
    }
}

/// What Lambda sends, for either kind of stream.
#[derive(Deserialize)]
pub struct Batch<R> {
    #[serde(rename = "Records")]
    pub records: Vec<R>,
}

/// What Lambda expects back.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchResponse {
    batch_item_failures: Vec<ItemFailure>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemFailure {
    item_identifier: String,
}

/// Runs the function.
pub async fn serve<C: Consumer>() -> Exit {
    let consumer = C::new(&Roost::start().await?)?;
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Batch<C::Record>>| {
        let handle = async |records: &[C::Record]| consumer.handle(records).await;
        let left = Duration::from_millis(event.context.deadline.saturating_sub(now_millis()));
        let patience = Patience::new(left);
        let response = in_order(&event.payload.records, C::CHUNK, &patience, &handle).await;
        metrics::flush();
        Ok::<_, lambda_runtime::Error>(response)
    }))
    .await
}

/// How long an invocation tries again what failed.
struct Patience {
    until: Instant,
    /// Between two attempts. Random, so that sandboxes do not ask in step.
    pause_ms: Range<u64>,
}

impl Patience {
    fn new(left: Duration) -> Self {
        Self {
            until: Instant::now() + sat_out(left),
            pause_ms: 1_000..3_000,
        }
    }
}

/// How long an invocation with so much time lasts at least if a store does not answer. The rest of the time is for the
/// last attempt.
pub fn sat_out(left: Duration) -> Duration {
    left / 4 * 3
}

async fn in_order<R: Record>(
    records: &[R],
    chunk: usize,
    patience: &Patience,
    handle: &impl AsyncFn(&[R]) -> Result<()>,
) -> BatchResponse {
    for records in records.chunks(chunk) {
        if let Err(error) = patiently(records, patience, handle).await {
            let failed = records
                .first()
                .map(Record::sequence_number)
                .unwrap_or_default();
            tracing::error!(
                error = error.chain(),
                sequence_number = failed,
                records = records.len(),
                "records failed"
            );
            return BatchResponse {
                batch_item_failures: vec![ItemFailure {
                    item_identifier: failed.to_owned(),
                }],
            };
        }
    }
    BatchResponse::default()
}

/// Handles the records, and tries again for a while if what failed may pass.
async fn patiently<R>(
    records: &[R],
    patience: &Patience,
    handle: &impl AsyncFn(&[R]) -> Result<()>,
) -> Result<()> {
    loop {
        let Err(error) = guarded(handle(records)).await else {
            return Ok(());
        };
        let left = patience.until.saturating_duration_since(Instant::now());
        if left.is_zero() || !error.may_pass() {
            return Err(error);
        }
        tracing::warn!(error = error.chain(), "records are tried again");
        let pause = Duration::from_millis(fastrand::u64(patience.pause_ms.clone()));
        sleep(left.min(pause)).await;
    }
}

/// The JSON that a Kinesis record carries.
pub fn payload<T: DeserializeOwned>(record: &StreamRecord) -> Result<T> {
    serde_json::from_slice(&record.kinesis.data.0).map_err(Error::unreadable("an event"))
}

/// The key of the item that a DynamoDB stream record is about.
pub fn key<T: DeserializeOwned>(record: &TableRecord) -> Result<T> {
    serde_dynamo::from_item(record.change.keys.clone()).map_err(Error::unreadable("a record's key"))
}

/// The item after the change that a DynamoDB stream record is about.
pub fn new_image<T: DeserializeOwned>(record: &TableRecord) -> Result<T> {
    serde_dynamo::from_item(record.change.new_image.clone())
        .map_err(Error::unreadable("a record's new image"))
}

/// The item before the change that a DynamoDB stream record is about.
pub fn old_image<T: DeserializeOwned>(record: &TableRecord) -> Result<T> {
    serde_dynamo::from_item(record.change.old_image.clone())
        .map_err(Error::unreadable("a record's old image"))
}

/// `true` if the record's item was put into the table, `false` if it was removed.
pub fn was_inserted(record: &TableRecord) -> Result<bool> {
    match record.event_name.as_str() {
        "INSERT" => Ok(true),
        "REMOVE" => Ok(false),
        other => Err(Error::unreadable("a record's event name")(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[derive(Deserialize)]
    struct Numbered(String);

    impl Record for Numbered {
        fn sequence_number(&self) -> &str {
            &self.0
        }
    }

    fn records(count: usize) -> Vec<Numbered> {
        (0..count).map(|n| Numbered(n.to_string())).collect()
    }

    fn for_a_while(while_ms: u64) -> Patience {
        Patience {
            until: Instant::now() + Duration::from_millis(while_ms),
            pause_ms: 10..30,
        }
    }

    fn failure_of(id: &str) -> BatchResponse {
        BatchResponse {
            batch_item_failures: vec![ItemFailure {
                item_identifier: id.to_owned(),
            }],
        }
    }

    #[tokio::test]
    async fn a_batch_stops_at_its_first_failure_and_reports_it() {
        let seen = RefCell::new(Vec::new());
        let response = in_order(
            &records(5),
            1,
            &for_a_while(0),
            &async |records: &[Numbered]| {
                seen.borrow_mut().push(records[0].0.clone());
                if records[0].0 == "2" {
                    Err(Error::GaveUp("two"))
                } else {
                    Ok(())
                }
            },
        )
        .await;
        assert_eq!(response, failure_of("2"));
        assert_eq!(seen.into_inner(), ["0", "1", "2"]);
    }

    #[tokio::test]
    async fn a_failed_chunk_is_reported_by_its_first_record() {
        let response = in_order(
            &records(7),
            3,
            &for_a_while(0),
            &async |records: &[Numbered]| {
                if records.iter().any(|record| record.0 == "4") {
                    Err(Error::GaveUp("four"))
                } else {
                    Ok(())
                }
            },
        )
        .await;
        assert_eq!(response, failure_of("3"));
    }

    #[tokio::test]
    async fn a_panic_fails_its_record() {
        let response = in_order(
            &records(3),
            1,
            &for_a_while(0),
            &async |records: &[Numbered]| {
                assert_ne!(records[0].0, "1", "poison");
                Ok(())
            },
        )
        .await;
        assert_eq!(response, failure_of("1"));
    }

    #[tokio::test]
    async fn a_good_batch_reports_nothing() {
        let response = in_order(
            &records(3),
            2,
            &for_a_while(0),
            &async |_: &[Numbered]| Ok(()),
        )
        .await;
        assert_eq!(
            serde_json::to_string(&response).expect("serializes"),
            r#"{"batchItemFailures":[]}"#
        );
    }

    /// How long an invocation takes that may sit out 300 ms, and how often it tries, if every attempt ends like this.
    async fn outage(error: fn() -> Error) -> (Duration, usize) {
        let (attempts, started) = (RefCell::new(0), Instant::now());
        let patience = for_a_while(300);
        let fail = async |_: &[Numbered]| {
            *attempts.borrow_mut() += 1;
            Err(error())
        };
        let response = in_order(&records(2), 1, &patience, &fail).await;
        assert_eq!(response, failure_of("0"));
        (started.elapsed(), attempts.into_inner())
    }

    #[tokio::test]
    async fn an_outage_is_sat_out_inside_the_invocation() {
        let (took, attempts) = outage(|| Error::RedisDown).await;
        assert!(took >= Duration::from_millis(300), "{took:?}");
        assert!((2..=32).contains(&attempts), "{attempts} attempts");
    }

    #[tokio::test]
    async fn a_record_that_cannot_be_read_is_reported_at_once() {
        let (_, attempts) = outage(|| Error::unreadable("a record")("nonsense")).await;
        assert_eq!(attempts, 1);
    }

    #[tokio::test]
    async fn records_are_done_in_order_once_the_outage_is_over() {
        let (seen, failures) = (RefCell::new(Vec::new()), RefCell::new(3));
        let handle = async |records: &[Numbered]| {
            if records[0].0 == "1" && *failures.borrow() > 0 {
                *failures.borrow_mut() -= 1;
                return Err(Error::RedisDown);
            }
            seen.borrow_mut().push(records[0].0.clone());
            Ok(())
        };
        let response = in_order(&records(3), 1, &for_a_while(60_000), &handle).await;
        assert_eq!(response, BatchResponse::default());
        assert_eq!(seen.into_inner(), ["0", "1", "2"]);
    }
}
