//! A shard of a Kinesis stream, read straight from the embedded store.

use ferrokinesis::sequence::shard_ix_to_hex;
use ferrokinesis::store::Store;
use serde_json::{Value, json};

use super::record::Record;
use crate::template::{ACCOUNT, REGION};

/// One shard, and how far it was read.
pub(crate) struct StreamShard {
    store: Store,
    stream: String,
    arn: String,
    pub(crate) id: String,
    /// The store orders records by `<shard>/<sequence number>`; reading goes on from here.
    next_key: String,
    end_key: String,
}

impl StreamShard {
    /// The store is still empty at this point, so reading from the oldest and from the latest record is the same.
    pub(crate) fn open(store: Store, stream: &str, arn: &str, index: u32) -> Self {
        Self {
            store,
            stream: stream.to_owned(),
            arn: arn.to_owned(),
            id: format!("shardId-{index:012}"),
            next_key: format!("{}/", shard_ix_to_hex(index.into())),
            end_key: shard_ix_to_hex(i64::from(index) + 1),
        }
    }

    /// The next records, up to `limit`, in order; none if all are read.
    pub(crate) async fn read(&mut self, limit: usize) -> Vec<Record> {
        let stored = self
            .store
            .get_records_range_limited(&self.stream, &self.next_key, &self.end_key, limit)
            .await;
        let mut records = Vec::with_capacity(stored.len());
        for (key, record) in stored {
            let sequence = key
                .split_once('/')
                .map_or("", |(_, sequence)| sequence)
                .to_owned();
            records.push(Record {
                event: json!({
                    "kinesis": {
                        "kinesisSchemaVersion": "1.0",
                        "partitionKey": record.partition_key,
                        "sequenceNumber": sequence,
                        "data": record.data,
                        "approximateArrivalTimestamp": record.approximate_arrival_timestamp,
                    },
                    "eventSource": "aws:kinesis",
                    "eventVersion": "1.0",
                    "eventID": format!("{}:{sequence}", self.id),
                    "eventName": "aws:kinesis:record",
                    "invokeIdentityArn": format!("arn:aws:iam::{ACCOUNT}:role/local"),
                    "awsRegion": REGION,
                    "eventSourceARN": self.arn,
                }),
                partition: record.partition_key,
                arrived_ms: (record.approximate_arrival_timestamp * 1000.0) as u64,
                sequence,
            });
            // The smallest key after this one.
            self.next_key = format!("{key}\0");
        }
        records
    }
}

/// What a filter sees of a record: its metadata and its data, decoded. Data that is not JSON stays text, which only
/// patterns without a `data` object can match.
pub(crate) fn filter_view(event: &Value) -> Value {
    use base64::Engine as _;
    let mut view = event["kinesis"].clone();
    let encoded = view["data"].as_str().unwrap_or_default();
    if let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(encoded) {
        view["data"] = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    }
    view
}
