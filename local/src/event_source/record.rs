//! A record of a stream, ready to be put into an event.

use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// What a function names to say that this record failed.
    pub(crate) sequence: String,
    /// Records with the same one are delivered in order.
    pub(crate) partition: String,
    /// When it was written, in milliseconds since 1970.
    pub(crate) arrived_ms: u64,
    /// The record as the function gets it.
    pub(crate) event: Value,
}

/// The event that carries these records.
pub(crate) fn event(records: &[Record]) -> Value {
    json!({ "Records": records.iter().map(|record| &record.event).collect::<Vec<_>>() })
}
