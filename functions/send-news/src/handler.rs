use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt, stream};
use shared::platform::{metrics, now_millis};
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::connections::{Connection, Place};
use shared::stores::{Connections, Sockets};
use shared::{Result, Roost};

/// Messages under way at once.
const CONCURRENCY: usize = 50;

/// The memory of a sandbox is emptied here, so that it stays bounded.
const MOST_REMEMBERED: usize = 10_000;

pub(crate) struct SendNews {
    connections: Connections,
    sockets: Sockets,
    /// The last message that went out on each connection, by its number.
    went_out: Mutex<HashMap<String, u64>>,
}

impl Consumer for SendNews {
    type Record = TableRecord;
    const CHUNK: usize = 500;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            connections: Connections::new(roost)?,
            sockets: Sockets::new(roost)?,
            went_out: Mutex::default(),
        })
    }

    /// The event source's filter lets only connections through that have a message, or that were removed.
    ///
    /// First everything is sent, then it is noted, so that nobody waits for the notes. If another sandbox repeats this in
    /// between, the messages go out again: better twice than never.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let sent = all(records.iter().map(|record| self.send(record))).await;
        // What could be sent is noted, although something else could not.
        let (sent, failed): (Vec<_>, Vec<_>) = sent.into_iter().partition(Result::is_ok);
        let sent = sent.into_iter().flatten().flatten();
        let noted = all(sent.map(|sent| self.note(sent))).await;
        let failed = failed.into_iter().map(|failed| failed.map(drop));
        failed.chain(noted).collect()
    }
}

/// What became of a message.
struct Sent {
    connection: Connection,
    /// `None` if nobody was there any more.
    at: Option<u64>,
}

impl SendNews {
    async fn send(&self, record: &TableRecord) -> Result<Option<Sent>> {
        let place: Place = batch::key(record)?;
        if !place.is_connection() {
            return Ok(None);
        }
        if record.event_name == "REMOVE" {
            let connection: Connection = batch::old_image(record)?;
            self.sockets.close(connection.id()).await?;
            return Ok(None);
        }
        let connection: Connection = batch::new_image(record)?;
        let Some(message) = connection.message() else {
            return Ok(None);
        };
        let before: Option<Connection> = batch::old_image(record).ok();
        let is_old = before.is_some_and(|before| connection.has_message_of(&before));
        if is_old || self.remembers(&connection) {
            return Ok(None);
        }
        let is_there = self.sockets.send(connection.id(), &message).await?;
        let at = is_there.then(now_millis);
        self.remember(&connection);
        Ok(Some(Sent { connection, at }))
    }

    /// `true` if this very message went out, and the batch is tried again for something else.
    fn remembers(&self, connection: &Connection) -> bool {
        self.went_out().get(connection.id()) == Some(&connection.message_number())
    }

    fn remember(&self, connection: &Connection) {
        let mut went_out = self.went_out();
        if went_out.len() >= MOST_REMEMBERED {
            went_out.clear();
        }
        went_out.insert(connection.id().to_owned(), connection.message_number());
    }

    fn went_out(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.went_out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn note(&self, Sent { connection, at }: Sent) -> Result<()> {
        let Some(now) = at else {
            metrics::LIVE_DEAD.add(1);
            tracing::info!(user_id = %connection.user(), "a connection has died");
            return self
                .connections
                .remove(connection.user(), connection.id())
                .await;
        };
        metrics::LIVE_MESSAGES.add(1);
        metrics::LIVE_LAG.record(now.saturating_sub(connection.since().millis()));
        self.connections.sent(&connection, now).await
    }
}

/// Does all of it, some at once.
async fn all<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let work: Vec<_> = work.collect();
    stream::iter(work)
        .buffer_unordered(CONCURRENCY)
        .collect()
        .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::domain::live::ToClient;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/send-news.json");

    #[test]
    fn the_event_is_a_message_for_a_connection() {
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        let connection: Connection = batch::new_image(&batch.records[0]).expect("a connection");
        assert_eq!(connection.id(), "L0SM9cOFvHcCIhw=");
        assert!(matches!(
            connection.message(),
            Some(ToClient::New {
                count: 3,
                capped: false,
                ..
            })
        ));
    }
}
