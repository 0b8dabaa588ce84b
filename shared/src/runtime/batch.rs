//! From "handle some records" to "handle a batch": in order, stopping at the first failure and reporting it.
//!
//! Lambda then delivers again from the reported record on. Everything before it is done; everything behind it was not
//! touched, so order is kept. A panic fails its record like an error does.

pub use aws_lambda_events::dynamodb::EventRecord as TableRecord;
pub use aws_lambda_events::kinesis::KinesisEventRecord as StreamRecord;
use lambda_runtime::{LambdaEvent, service_fn};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Exit;
use super::guard::guarded;
use crate::platform::{Roost, metrics};
use crate::{Error, Result};

/// One consumer of a stream: what it needs, and what it does with records.
pub trait Consumer: Sized {
    /// [`TableRecord`] for the stream of a DynamoDB table, [`StreamRecord`] for a Kinesis stream.
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
        let response = in_order(&event.payload.records, C::CHUNK, &handle).await;
        metrics::flush();
        Ok::<_, lambda_runtime::Error>(response)
    }))
    .await
}

async fn in_order<R: Record>(
    records: &[R],
    chunk: usize,
    handle: &impl AsyncFn(&[R]) -> Result<()>,
) -> BatchResponse {
    for records in records.chunks(chunk) {
        if let Err(error) = guarded(handle(records)).await {
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
        let response = in_order(&records(5), 1, &async |records: &[Numbered]| {
            seen.borrow_mut().push(records[0].0.clone());
            if records[0].0 == "2" {
                Err(Error::GaveUp("two"))
            } else {
                Ok(())
            }
        })
        .await;
        assert_eq!(response, failure_of("2"));
        assert_eq!(seen.into_inner(), ["0", "1", "2"]);
    }

    #[tokio::test]
    async fn a_failed_chunk_is_reported_by_its_first_record() {
        let response = in_order(&records(7), 3, &async |records: &[Numbered]| {
            if records.iter().any(|record| record.0 == "4") {
                Err(Error::GaveUp("four"))
            } else {
                Ok(())
            }
        })
        .await;
        assert_eq!(response, failure_of("3"));
    }

    #[tokio::test]
    async fn a_panic_fails_its_record() {
        let response = in_order(&records(3), 1, &async |records: &[Numbered]| {
            assert_ne!(records[0].0, "1", "poison");
            Ok(())
        })
        .await;
        assert_eq!(response, failure_of("1"));
    }

    #[tokio::test]
    async fn a_good_batch_reports_nothing() {
        let response = in_order(&records(3), 2, &async |_: &[Numbered]| Ok(())).await;
        assert_eq!(
            serde_json::to_string(&response).expect("serializes"),
            r#"{"batchItemFailures":[]}"#
        );
    }
}
