//! The events that functions get. Requests are made up. Records of streams are made up, or caught to deliver them again.

use aws_sdk_kinesis::Client as Kinesis;
use aws_sdk_kinesis::primitives::Blob;
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
    fn new(kind: &str, table: &str, keys: &[(&str, i64)]) -> Self {
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

    fn edge(kind: &str, follower: u64, followee: u64) -> Self {
        let keys = [("followee_id", followee), ("follower_id", follower)];
        let keys = keys.map(|(name, id)| (name, id.cast_signed()));
        Self::new(kind, "followers", &keys)
    }

    pub fn followed(follower: u64, followee: u64) -> Self {
        Self::edge("INSERT", follower, followee)
    }

    pub fn unfollowed(follower: u64, followee: u64) -> Self {
        Self::edge("REMOVE", follower, followee)
    }

    fn tweet(kind: &str, shelf: i64, tweet: u64) -> Self {
        let keys = [("author_id", shelf), ("tweet_id", tweet.cast_signed())];
        Self::new(kind, "tweets", &keys)
    }

    /// A tweet or a repost.
    pub fn tweeted(author: u64, tweet: u64) -> Self {
        Self::tweet("INSERT", author.cast_signed(), tweet)
    }

    /// A reply to somebody else. The table keeps it under the author's id with a minus sign.
    pub fn replied(author: u64, reply: u64) -> Self {
        Self::tweet("INSERT", -author.cast_signed(), reply)
    }

    /// Such a reply was deleted.
    pub fn reply_deleted(author: u64, reply: u64) -> Self {
        Self::tweet("REMOVE", -author.cast_signed(), reply)
    }
}

/// Like [`http_request`], with a body.
pub fn http(method: &str, path: &str, subject: &str, body: Option<&Value>) -> Value {
    let mut event = http_request(method, path, subject);
    event["body"] = json!(body.map(ToString::to_string));
    event
}

/// What the gateway makes of a request whose token names `subject`. The path may have a query; without it, it is the
/// route.
pub fn http_request(method: &str, path: &str, subject: &str) -> Value {
    let (raw_path, query) = path.split_once('?').unwrap_or((path, ""));
    let parameters: Value = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    // `/v1/tweets/{id}`, `/v1/users/{id}/follow`: the only parameter in a path.
    let ids: Value = raw_path
        .split('/')
        .filter(|part| part.parse::<u64>().is_ok())
        .map(|id| ("id".to_owned(), json!(id)))
        .collect();
    let http = json!({
        "method": method, "path": raw_path, "protocol": "HTTP/1.1",
        "sourceIp": "127.0.0.1", "userAgent": "test",
    });
    let claims = json!({ "sub": subject });
    let route = format!("{method} {raw_path}");
    json!({
        "version": "2.0",
        "routeKey": route,
        "rawPath": raw_path,
        "rawQueryString": query,
        "headers": { "host": "localhost", "content-type": "application/json" },
        "queryStringParameters": parameters,
        "pathParameters": ids,
        "requestContext": {
            "accountId": "000000000000", "apiId": "test", "domainName": "localhost",
            "domainPrefix": "localhost", "requestId": "test", "stage": "$default",
            "routeKey": route, "time": "16/Nov/2026:00:00:00 +0000",
            "timeEpoch": 1_794_787_200_000_u64,
            "authorizer": { "jwt": { "claims": claims, "scopes": null } },
            "http": http,
        },
        "isBase64Encoded": false,
    })
}

/// What a schedule invokes a function with.
pub fn scheduled() -> Value {
    json!({ "detail-type": "Scheduled Event", "source": "aws.events", "detail": {} })
}

/// A batch with the one `tweet-created` record of a new tweet.
pub fn tweet_created(author: u64, tweet: u64) -> Value {
    let event = json!({
        "type": "tweet_created", "tweet_id": tweet.to_string(), "author_id": author.to_string(),
    });
    kinesis_batch(author, &event)
}

fn kinesis_batch(key: u64, event: &Value) -> Value {
    let sequence_number = fastrand::u64(1..).to_string();
    json!({ "Records": [{
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "partitionKey": key.to_string(),
            "sequenceNumber": sequence_number,
            "data": STANDARD.encode(event.to_string()),
            "approximateArrivalTimestamp": 1_794_787_260.5,
        },
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": format!("shardId-000000000000:{sequence_number}"),
        "eventName": "aws:kinesis:record",
        "invokeIdentityArn": "arn:aws:iam::000000000000:role/test",
        "awsRegion": "us-east-1",
        "eventSourceARN": "arn:aws:kinesis:us-east-1:000000000000:stream/roost-test",
    }] })
}

/// A batch as the event source mapping of a table's stream makes it.
pub fn table_batch(records: &[&StreamRecord]) -> Value {
    json!({ "Records": records.iter().map(|record| &record.0).collect::<Vec<_>>() })
}

/// A batch of the `tweet-created` records that are about this tweet. `None` if there is none (yet).
pub async fn caught_tweet_created(target: &Target, tweet: u64) -> Option<Value> {
    let (stream, records) = all_records(target, "tweet-created").await?;
    let about_it = records.iter().filter(|(_, record)| is_about(record, tweet));
    let caught: Vec<_> = about_it
        .map(|(shard, record)| stream_record(&stream, shard, record))
        .collect();
    (!caught.is_empty()).then(|| json!({ "Records": caught }))
}

/// Puts an event on a stream of the deployment, as an earlier version may have left it there.
pub async fn put_on_stream(target: &Target, stream: &str, key: u64, event: &Value) {
    let endpoint = target.endpoints.kinesis.as_deref();
    let endpoint = endpoint.expect("the streams can be reached");
    let kinesis = Kinesis::new(&sdk_config(endpoint).await);
    let put = kinesis
        .put_record()
        .stream_name(format!("{}-{stream}", target.stack))
        .partition_key(key.to_string())
        .data(Blob::new(event.to_string()));
    let put = put.send().await;
    put.unwrap_or_else(|e| panic!("{stream} takes no record: {e:?}"));
}

/// A batch with one list that is to be filled.
pub fn timeline_fill(user: u64) -> Value {
    let work = json!({ "user_id": user.to_string() });
    handed_over("fills", &format!("fill#{user}"), &work)
}

/// A batch with one piece of work for `apply-tier-changes`: Redis did not take what changed of this user.
pub fn outdated(user: u64) -> Value {
    let work = json!({ "outdated": [user.to_string()] });
    handed_over("handovers", &format!("tier#{user}"), &work)
}

fn handed_over(table: &str, key: &str, work: &Value) -> Value {
    json!({ "Records": [{
        "eventID": fastrand::u64(1..).to_string(),
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_794_787_260,
            "Keys": { "pk": { "S": key } },
            "NewImage": {
                "pk": { "S": key },
                "work": { "S": work.to_string() },
                "nonce": { "N": fastrand::u64(..).to_string() },
                "expires_at": { "N": "1794873660" },
            },
            "SequenceNumber": fastrand::u64(1..).to_string(),
            "SizeBytes": 200,
            "StreamViewType": "NEW_IMAGE",
        },
        "eventSourceARN": format!("arn:aws:dynamodb:us-east-1:000000000000:table/roost-{table}/stream/2025-01-01T00:00:00.000"),
    }] })
}

/// A change of an author's tier, as `celebrity-flag-changed` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flip {
    pub epoch: u64,
    pub is_celebrity: bool,
}

/// Every flip of this author that was published, in order. An event that only goes on telling followers is not a flip.
pub async fn caught_flips(target: &Target, author: u64) -> Vec<Flip> {
    let (_, records) = all_records(target, "celebrity-flag-changed")
        .await
        .expect("the streams can be read");
    let payloads = records.iter().map(|(_, record)| {
        serde_json::from_slice::<Value>(record.data().as_ref()).expect("an event is JSON")
    });
    let of_author = author.to_string();
    let mut flips: Vec<_> = payloads
        .filter(|event| event["user_id"] == of_author.as_str() && event["after"].is_null())
        .map(|event| Flip {
            epoch: event["epoch"].as_u64().expect("an epoch"),
            is_celebrity: event["is_celebrity"].as_bool().expect("a flag"),
        })
        .collect();
    flips.sort_unstable();
    flips
}

/// The stream's name and everything that is on it, with the shards. `None` if streams are out of reach.
async fn all_records(target: &Target, name: &str) -> Option<(String, Vec<(String, Record)>)> {
    let kinesis = Kinesis::new(&sdk_config(target.endpoints.kinesis.as_deref()?).await);
    let stream = format!("{}-{name}", target.stack);
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
            next = page
                .next_shard_iterator
                .filter(|_| page.millis_behind_latest.unwrap_or_default() > 0);
            let read = page.records.into_iter();
            caught.extend(read.map(|record| (shard.shard_id().to_owned(), record)));
        }
    }
    Some((stream, caught))
}

/// Ids may be written as text or as bytes.
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
