//! Writing to a Kinesis stream.

use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use serde::Serialize;

use super::dynamo::back_off;
use crate::platform::Roost;
use crate::{Error, Result};

/// The most records that one PutRecords takes.
pub const MOST_RECORDS: usize = 500;
const ATTEMPTS: u32 = 6;

/// The streams that there are. [`crate::domain::event`] has what travels on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    TweetCreated,
    FanOutPages,
    TierChanges,
    TimelineFills,
}

#[derive(Clone)]
pub struct EventStream {
    client: Client,
    name: String,
}

impl EventStream {
    pub fn new(roost: &Roost, stream: Stream) -> Result<Self> {
        let config = &roost.config;
        let name = match stream {
            Stream::TweetCreated => config.tweet_created_stream(),
            Stream::FanOutPages => config.fan_out_pages_stream(),
            Stream::TierChanges => config.tier_changes_stream(),
            Stream::TimelineFills => config.timeline_fills_stream(),
        };
        Ok(Self {
            client: roost.aws.kinesis(),
            name: name?.to_owned(),
        })
    }

    /// Puts all events (at most [`MOST_RECORDS`]), each under its partition key. A failure may leave some of them in
    /// the stream; put again, they are there twice, which every consumer can take.
    pub async fn put(
        &self,
        events: impl IntoIterator<Item = (String, impl Serialize)>,
    ) -> Result<()> {
        let mut records = Vec::new();
        for (key, event) in events {
            let json =
                serde_json::to_vec(&event).map_err(Error::unreadable("an event to write"))?;
            let record = PutRecordsRequestEntry::builder()
                .partition_key(key)
                .data(Blob::new(json))
                .build();
            records.push(record.map_err(failed)?);
        }
        for attempt in 0..ATTEMPTS {
            if records.is_empty() {
                return Ok(());
            }
            back_off(attempt).await;
            let put = self
                .client
                .put_records()
                .stream_name(&self.name)
                .set_records(Some(records.clone()));
            let answer = put.send().await.map_err(failed)?;
            // Kinesis takes each record by itself: keep those that it refused.
            let mut results = answer.records().iter();
            records.retain(|_| {
                results
                    .next()
                    .is_none_or(|result| result.error_code().is_some())
            });
        }
        if records.is_empty() {
            Ok(())
        } else {
            Err(Error::GaveUp("putting events on a stream"))
        }
    }
}

fn failed<E: std::error::Error + Send + Sync + 'static>(source: E) -> Error {
    Error::Kinesis {
        operation: "PutRecords",
        source: Box::new(source),
    }
}
