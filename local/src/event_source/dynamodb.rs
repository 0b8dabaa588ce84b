//! The stream of a table, read straight from the embedded database.

use dynoxide::Database;
use dynoxide::actions::get_records::GetRecordsRequest;
use dynoxide::actions::get_shard_iterator::GetShardIteratorRequest;
use serde_json::{Value, json};

use super::record::Record;
use crate::template::REGION;

/// A table's only shard, and how far it was read.
pub(crate) struct TableShard {
    database: Database,
    arn: String,
    partition_key: String,
    pub(crate) id: String,
    iterator: String,
}

impl TableShard {
    pub(crate) fn open(
        database: Database,
        table: &str,
        partition_key: &str,
        arn: &str,
        from_latest: bool,
    ) -> Result<Self, String> {
        let id = dynoxide::streams::shard_id(table);
        let request = GetShardIteratorRequest {
            // Only the table's name is read from it.
            stream_arn: dynoxide::streams::stream_arn(table, "local"),
            shard_id: id.clone(),
            shard_iterator_type: if from_latest {
                "LATEST"
            } else {
                "TRIM_HORIZON"
            }
            .to_owned(),
            sequence_number: None,
        };
        let iterator = database
            .get_shard_iterator(request)
            .map_err(|error| error.to_string())?
            .shard_iterator;
        Ok(Self {
            database,
            arn: arn.to_owned(),
            partition_key: partition_key.to_owned(),
            id,
            iterator: iterator.unwrap_or_default(),
        })
    }

    /// The next records, up to `limit`, in order; none if all are read.
    pub(crate) fn read(&mut self, limit: usize) -> Result<Vec<Record>, String> {
        let request = GetRecordsRequest {
            shard_iterator: self.iterator.clone(),
            limit: Some(limit),
        };
        let answer = self
            .database
            .get_records(request)
            .map_err(|error| error.to_string())?;
        let mut records = Vec::with_capacity(answer.records.len());
        for record in answer.records {
            let mut event = serde_json::to_value(&record).map_err(|error| error.to_string())?;
            event["awsRegion"] = json!(REGION);
            event["eventSourceARN"] = json!(self.arn);
            let created = event["dynamodb"]["ApproximateCreationDateTime"]
                .as_f64()
                .unwrap_or_default();
            // Seconds, and whole ones: what the database keeps.
            let created = Value::from(created as u64);
            event["dynamodb"]["ApproximateCreationDateTime"] = created.clone();
            records.push(Record {
                partition: event["dynamodb"]["Keys"][&self.partition_key].to_string(),
                sequence: record.dynamodb.sequence_number,
                arrived_ms: created.as_u64().unwrap_or_default() * 1000,
                event,
            });
        }
        // Only now, so that an error above reads the same records again.
        if let Some(next) = answer.next_shard_iterator {
            self.iterator = next;
        }
        Ok(records)
    }
}
