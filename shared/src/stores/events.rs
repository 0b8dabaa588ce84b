//! Writing to a Kinesis stream.

use std::collections::HashSet;
use std::hash::Hash;

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
    TierChanges,
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
            Stream::TierChanges => config.tier_changes_stream(),
        };
        Ok(Self {
            client: roost.aws.kinesis(),
            name: name?.to_owned(),
        })
    }

    /// Puts all events (at most [`MOST_RECORDS`]), each under its partition key. The last copies of one key's events are
    /// in the stream in the order given. A failure may leave some of them in the stream; put again, they are there
    /// twice, which every consumer can take.
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
            let results = answer.records();
            let refused = |n: usize| {
                let result = results.get(n);
                result.is_none_or(|result| result.error_code().is_some())
            };
            let again = to_put_again(
                records.iter().map(PutRecordsRequestEntry::partition_key),
                refused,
            );
            records = again.into_iter().map(|n| records[n].clone()).collect();
        }
        if records.is_empty() {
            Ok(())
        } else {
            Err(Error::GaveUp("putting events on a stream"))
        }
    }
}

/// Which records to put again, by their place. Kinesis takes each record by itself. If it refuses one and takes a later
/// one of the same key, their order is wrong: a tweet that was deleted would come after its deletion. So with a refused
/// record go all that follow it under its key.
fn to_put_again<K: Copy + Eq + Hash>(
    keys: impl Iterator<Item = K>,
    refused: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut broken = HashSet::new();
    let again = keys.enumerate().filter(|(n, key)| {
        if refused(*n) {
            broken.insert(*key);
        }
        broken.contains(key)
    });
    again.map(|(n, _)| n).collect()
}

fn failed<E: std::error::Error + Send + Sync + 'static>(source: E) -> Error {
    Error::Kinesis {
        operation: "PutRecords",
        source: Box::new(source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Kinesis refuses any records at any attempt; the last attempt goes through.
        #[test]
        fn the_last_copies_of_a_key_s_records_are_in_order(
            keys in prop::collection::vec(0..4_u8, 1..40),
            refusals in prop::collection::vec(prop::collection::hash_set(0..40_usize, 0..30), 0..5),
        ) {
            let keys: Vec<String> = keys.iter().map(u8::to_string).collect();
            let (mut records, mut stream) = ((0..keys.len()).collect::<Vec<_>>(), Vec::new());
            for refused in refusals.into_iter().chain([HashSet::new()]) {
                let taken = records.iter().enumerate().filter(|(n, _)| !refused.contains(n));
                stream.extend(taken.map(|(_, record)| *record));
                let of_records = records.iter().map(|record| keys[*record].as_str());
                let again = to_put_again(of_records, |n| refused.contains(&n));
                records = again.into_iter().map(|n| records[n]).collect();
            }
            for key in &keys {
                let last = |record: &usize| stream.iter().rposition(|other| other == record);
                let of_key = (0..keys.len()).filter(|record| keys[*record] == *key);
                let places: Vec<Option<usize>> = of_key.map(|record| last(&record)).collect();
                prop_assert!(places.iter().all(Option::is_some), "a record is missing");
                prop_assert!(places.is_sorted(), "{stream:?}");
            }
        }
    }
}
