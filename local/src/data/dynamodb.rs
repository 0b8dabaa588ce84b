//! DynamoDB, by dynoxide: an in-memory database behind the real HTTP API.
//!
//! Two things are added from outside. dynoxide 3.2 keeps stream records in a table without an index and looks through
//! all of them on every write (700 writes/s at 10,000 records and falling, against 7,000), so an index is put into
//! the database before it is used, and the stream can be kept, as AWS keeps it. And dynoxide tells nobody that a
//! record was written, but it asks its clock for the record's time. So the clock tells the readers, and they need not
//! poll.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dynoxide::Database;
use dynoxide::actions::update_time_to_live::UpdateTimeToLiveRequest;
use dynoxide::storage::Storage;
use dynoxide::storage_backend::{Clock, SystemClock};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use uuid::Uuid;

use crate::error::StartError;
use crate::template::Table;

/// How often expired items are removed. DynamoDB promises no more than "within a few days".
const TTL_SWEEP: Duration = Duration::from_secs(30);

pub(crate) struct DynamoDb {
    pub(crate) database: Database,
    /// Changes whenever a stream record is about to be written.
    pub(crate) written: watch::Sender<u64>,
    partition_keys: BTreeMap<String, String>,
}

impl DynamoDb {
    /// Serves on `listener` with the template's tables in place.
    pub(crate) fn start(listener: TcpListener, tables: &[Table]) -> Result<Self, StartError> {
        let failed = |what: &str, error: String| StartError::DynamoDb(format!("{what}: {error}"));
        let written = watch::Sender::new(0);
        let database = Database::memory_with_clock(Arc::new(WakingClock {
            written: written.clone(),
        }))
        .map_err(|error| failed("open", error.to_string()))?;
        index_stream_records(&database).map_err(|error| failed("index", error))?;
        for table in tables {
            let request = serde_json::from_value(table.definition.clone())
                .map_err(|error| failed(&table.name, error.to_string()))?;
            database
                .create_table(request)
                .map_err(|error| failed(&table.name, error.to_string()))?;
            if let Some(attribute) = &table.time_to_live {
                let request: UpdateTimeToLiveRequest = serde_json::from_value(json!({
                    "TableName": table.name,
                    "TimeToLiveSpecification": {"AttributeName": attribute, "Enabled": true},
                }))
                .map_err(|error| failed(&table.name, error.to_string()))?;
                database
                    .update_time_to_live(request)
                    .map_err(|error| failed(&table.name, error.to_string()))?;
            }
        }
        tokio::spawn(dynoxide::server::serve_on(listener, database.clone()));
        if tables.iter().any(|table| table.time_to_live.is_some()) {
            tokio::spawn(remove_expired_items(database.clone()));
        }
        let partition_keys = tables
            .iter()
            .map(|table| (table.name.clone(), table.partition_key.clone()))
            .collect();
        Ok(Self {
            database,
            written,
            partition_keys,
        })
    }

    pub(crate) fn partition_key(&self, table: &str) -> &str {
        self.partition_keys.get(table).map_or("", String::as_str)
    }
}

/// An index is created by SQL, which the running database does not take. But the database can be restored from a file.
fn index_stream_records(database: &Database) -> Result<(), String> {
    let file = std::env::temp_dir().join(format!("roost-{}.sqlite", Uuid::new_v4()));
    let path = file.display().to_string();
    let prepared = Storage::new(&path)
        .map_err(|error| error.to_string())
        .and_then(|storage| {
            storage
                .conn()
                .execute_batch(
                    "CREATE INDEX _stream_records_in_order
                 ON _stream_records (table_name, CAST(sequence_number AS INTEGER));",
                )
                .map_err(|error| error.to_string())
        });
    let restored = prepared.and_then(|()| {
        database
            .restore_from(&path)
            .map_err(|error| error.to_string())
    });
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{path}{suffix}"));
    }
    restored
}

async fn remove_expired_items(database: Database) {
    loop {
        tokio::time::sleep(TTL_SWEEP).await;
        let database = database.clone();
        // A sweep that fails is tried again by the next one.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}

/// The system's clock, which also says that it was asked. dynoxide asks it while it holds the database's lock, just
/// before it stores a stream record: a reader that wakes now waits for that lock and then finds the record.
struct WakingClock {
    written: watch::Sender<u64>,
}

impl Clock for WakingClock {
    fn now_unix_secs(&self) -> u64 {
        self.written.send_modify(|times| *times += 1);
        SystemClock.now_unix_secs()
    }

    fn now_unix_secs_f64(&self) -> f64 {
        SystemClock.now_unix_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn table() -> Table {
        Table {
            name: "tweets".to_owned(),
            definition: json!({
                "TableName": "tweets",
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
                "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"},
            }),
            time_to_live: None,
            partition_key: "id".to_owned(),
        }
    }

    fn put(database: &Database, ids: std::ops::Range<u64>) -> Duration {
        let started = Instant::now();
        for id in ids {
            let request = json!({"TableName": "tweets", "Item": {"id": {"N": id.to_string()}}});
            let request = serde_json::from_value(request).expect("a put");
            database.put_item(request).expect("stored");
        }
        started.elapsed()
    }

    #[tokio::test]
    async fn a_write_wakes_the_readers_and_stays_fast_however_long_the_stream() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let dynamodb = DynamoDb::start(listener, &[table()]).expect("starts");
        let mut written = dynamodb.written.subscribe();
        written.mark_unchanged();
        let first = put(&dynamodb.database, 0..500);
        assert!(written.has_changed().expect("open"));
        put(&dynamodb.database, 500..10_000);
        let last = put(&dynamodb.database, 10_000..10_500);
        // Without the index the last ones take eight times as long as the first (measured: 84 ms, then 713 ms).
        assert!(last < first * 4, "{first:?} then {last:?}");
    }
}
