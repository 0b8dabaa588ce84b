//! Where batches go that were given up: the bucket of the template is a folder, and each batch one file with the key
//! and the content that Lambda writes to S3, so that what redrives a batch there redrives it here.

use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use super::delivery::{Condition, Discarded};
use super::record::{Record, event};
use crate::template::Source;

/// The failure destination of one shard of one event source.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    /// `.roost`; buckets are folders in it.
    pub(crate) state: PathBuf,
    pub(crate) bucket: String,
    pub(crate) mapping: Uuid,
    pub(crate) function_arn: String,
    pub(crate) source: Source,
    pub(crate) stream_arn: String,
    pub(crate) shard: String,
}

impl Destination {
    /// Keeps the batch; returns the file it went to.
    pub(crate) async fn keep(
        &self,
        discarded: &Discarded,
        records: &[Record],
    ) -> std::io::Result<PathBuf> {
        let now = Utc::now();
        let file = self
            .state
            .join(&self.bucket)
            .join(format!("aws/lambda/{}/{}", self.mapping, self.shard))
            .join(now.format("%Y/%m/%d").to_string())
            .join(format!(
                "{}-{}",
                now.format("%Y-%m-%dT%H.%M.%S"),
                Uuid::new_v4()
            ));
        let content = self.document(
            discarded,
            records,
            &now.to_rfc3339_opts(SecondsFormat::Millis, true),
        );
        write_whole(&self.state, &file, content.to_string()).await?;
        Ok(file)
    }

    fn document(&self, discarded: &Discarded, records: &[Record], timestamp: &str) -> Value {
        let arrival = |record: Option<&Record>| {
            let milliseconds = record.map_or(0, |record| record.arrived_ms);
            chrono::DateTime::from_timestamp_millis(i64::try_from(milliseconds).unwrap_or_default())
                .unwrap_or_default()
                .to_rfc3339_opts(SecondsFormat::Millis, true)
        };
        let batch = json!({
            "shardId": self.shard,
            "startSequenceNumber": records.first().map(|record| &record.sequence),
            "endSequenceNumber": records.last().map(|record| &record.sequence),
            "approximateArrivalOfFirstRecord": arrival(records.first()),
            "approximateArrivalOfLastRecord": arrival(records.last()),
            "batchSize": records.len(),
            "streamArn": self.stream_arn,
        });
        let batch_key = match self.source {
            Source::Table { .. } => "DDBStreamBatchInfo",
            Source::Stream { .. } => "KinesisBatchInfo",
        };
        let mut document = json!({
            "requestContext": {
                "requestId": Uuid::new_v4().to_string(),
                "functionArn": self.function_arn,
                "condition": discarded.condition.name(),
                "approximateInvokeCount": discarded.invocations,
            },
            "version": "1.0",
            "timestamp": timestamp,
            "payload": event(records).to_string(),
        });
        document[batch_key] = batch;
        // A record that grew too old may never have been tried; then there is no response to speak of.
        if discarded.condition == Condition::RetryAttemptsExhausted {
            document["responseContext"] = json!({"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"});
        }
        document
    }
}

/// Writes under another name first, so that a program that watches the folder never sees half a file.
async fn write_whole(state: &Path, file: &Path, content: String) -> std::io::Result<()> {
    let unfinished = state.join(format!(".unfinished-{}", Uuid::new_v4()));
    let file = file.to_owned();
    let written = tokio::task::spawn_blocking(move || {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&unfinished, content)?;
        std::fs::rename(&unfinished, &file)
    });
    written.await.map_err(std::io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_discarded_batch_is_kept_with_its_payload_under_the_key_that_lambda_would_use() {
        let state = std::env::temp_dir().join(format!("roost-failure-{}", Uuid::new_v4()));
        let destination = Destination {
            state: state.clone(),
            bucket: "failed".to_owned(),
            mapping: Uuid::nil(),
            function_arn: "arn:f".to_owned(),
            source: Source::Stream {
                name: "s".to_owned(),
                pushes: false,
            },
            stream_arn: "arn:s".to_owned(),
            shard: "shardId-000000000000".to_owned(),
        };
        let record = |sequence: &str| Record {
            sequence: sequence.to_owned(),
            partition: "p".to_owned(),
            arrived_ms: 1_000,
            event: json!({"eventID": sequence}),
        };
        let discarded = Discarded {
            records: 0..2,
            condition: Condition::RetryAttemptsExhausted,
            invocations: 3,
        };
        let file = destination
            .keep(&discarded, &[record("1"), record("2")])
            .await
            .expect("a writable folder");
        let key = file
            .strip_prefix(state.join("failed"))
            .expect("inside the bucket")
            .display()
            .to_string();
        assert!(
            key.starts_with(
                "aws/lambda/00000000-0000-0000-0000-000000000000/shardId-000000000000/20"
            ),
            "{key}"
        );
        let kept: Value =
            serde_json::from_slice(&std::fs::read(&file).expect("written")).expect("JSON");
        assert_eq!(kept["KinesisBatchInfo"]["startSequenceNumber"], "1");
        assert_eq!(kept["KinesisBatchInfo"]["batchSize"], 2);
        assert_eq!(kept["requestContext"]["approximateInvokeCount"], 3);
        assert_eq!(
            kept["payload"],
            r#"{"Records":[{"eventID":"1"},{"eventID":"2"}]}"#
        );
        std::fs::remove_dir_all(state).expect("ours");
    }
}
