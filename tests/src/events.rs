//! The events that stream consumers get, made up or caught, to deliver them once more.

use aws_sdk_kinesis::Client as Kinesis;
use aws_sdk_kinesis::types::{Record, ShardIteratorType};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::tables::sdk_config;
use crate::target::Target;

/// One record of a table's stream. Each has an id of its own; deliver the same one again to repeat it.
#[derive(Clone, Debug)]
pub struct StreamRecord(Value);

impl StreamRecord {
    fn new(kind: &str, table: &str, keys: &[(&str, u64)]) -> Self {
        let id: String = (0..32).map(|_| fastrand::digit(16)).collect();
        let keys: Value = keys
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!({ "N": value.to_string() })))
            .collect();
        Self(json!({
            "eventID": id,
            "eventName": kind,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "dynamodb": {
                "ApproximateCreationDateTime": 1_800_000_000,
                "Keys": keys,
                "SequenceNumber": format!("{:021}", fastrand::u64(1..)),
                "SizeBytes": 64,
                "StreamViewType": "KEYS_ONLY",
            },
            "eventSourceARN": format!("arn:aws:dynamodb:us-east-1:000000000000:table/roost-{table}/stream/2026-01-01T00:00:00.000"),
        }))
    }

    pub fn followed(follower: u64, followee: u64) -> Self {
        Self::new(
            "INSERT",
            "followers",
            &[("followee_id", followee), ("follower_id", follower)],
        )
    }

    pub fn unfollowed(follower: u64, followee: u64) -> Self {
        Self::new(
            "REMOVE",
            "followers",
            &[("followee_id", followee), ("follower_id", follower)],
        )
    }

    pub fn tweeted(author: u64, tweet: u64) -> Self {
        Self::new(
            "INSERT",
            "tweets",
            &[("author_id", author), ("tweet_id", tweet)],
        )
    }
}

/// A batch as the event source mapping of a table's stream makes it.
pub fn table_batch(records: &[&StreamRecord]) -> Value {
    json!({ "Records": records.iter().map(|record| &record.0).collect::<Vec<_>>() })
}

/// A batch of the `tweet-created` records that are about this tweet. `None` if there is none (yet).
pub async fn caught_tweet_created(target: &Target, tweet: u64) -> Option<Value> {
    let kinesis = Kinesis::new(&sdk_config(target.endpoints.kinesis.as_deref()?).await);
    let stream = format!("{}-tweet-created", target.stack);
    let shards = kinesis
        .list_shards()
        .stream_name(&stream)
        .send()
        .await
        .expect("the stream has shards");
    let mut caught = Vec::new();
    for shard in shards.shards() {
        let iterator = kinesis
            .get_shard_iterator()
            .stream_name(&stream)
            .shard_id(shard.shard_id())
            .shard_iterator_type(ShardIteratorType::TrimHorizon)
            .send()
            .await
            .expect("a shard can be read from its start");
        let mut next = iterator.shard_iterator;
        // An open shard never ends: it has been read when nothing is behind.
        for _ in 0..1_000 {
            let Some(iterator) = next.take() else { break };
            let page = kinesis
                .get_records()
                .shard_iterator(iterator)
                .send()
                .await
                .expect("a shard can be read");
            let about_it = page
                .records()
                .iter()
                .filter(|record| is_about(record, tweet));
            caught.extend(about_it.map(|record| stream_record(&stream, shard.shard_id(), record)));
            next = page
                .next_shard_iterator
                .filter(|_| page.millis_behind_latest.unwrap_or_default() > 0);
        }
    }
    (!caught.is_empty()).then(|| json!({ "Records": caught }))
}

/// However ids are written into the record.
fn is_about(record: &Record, tweet: u64) -> bool {
    let data = record.data().as_ref();
    let has = |needle: &[u8]| data.windows(needle.len()).any(|part| part == needle);
    has(tweet.to_string().as_bytes()) || has(&tweet.to_be_bytes())
}

fn stream_record(stream: &str, shard: &str, record: &Record) -> Value {
    json!({
        "eventID": format!("{shard}:{}", record.sequence_number()),
        "eventName": "aws:kinesis:record",
        "eventVersion": "1.0",
        "eventSource": "aws:kinesis",
        "awsRegion": "us-east-1",
        "invokeIdentityArn": "arn:aws:iam::000000000000:role/tests",
        "eventSourceARN": format!("arn:aws:kinesis:us-east-1:000000000000:stream/{stream}"),
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "partitionKey": record.partition_key(),
            "sequenceNumber": record.sequence_number(),
            "data": STANDARD.encode(record.data().as_ref()),
            "approximateArrivalTimestamp": record.approximate_arrival_timestamp().map_or(1_800_000_000.0, aws_sdk_kinesis::primitives::DateTime::as_secs_f64),
        },
    })
}
