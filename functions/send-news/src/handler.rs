use futures_util::{StreamExt, TryStreamExt, stream};
use shared::domain::live::ToClient;
use shared::platform::{metrics, now_millis};
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::connections::{Connection, Place};
use shared::stores::{Connections, Sockets};
use shared::{Result, Roost};

/// Messages under way at once.
const CONCURRENCY: usize = 50;

pub(crate) struct SendNews {
    connections: Connections,
    sockets: Sockets,
}

impl Consumer for SendNews {
    type Record = TableRecord;
    const CHUNK: usize = 500;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            connections: Connections::new(roost)?,
            sockets: Sockets::new(roost)?,
        })
    }

    /// The event source's filter lets only connections through that have a message, or that were removed.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let done: Vec<_> = records.iter().map(|record| self.one(record)).collect();
        stream::iter(done)
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await
    }
}

impl SendNews {
    async fn one(&self, record: &TableRecord) -> Result<()> {
        let place: Place = batch::key(record)?;
        if !place.is_connection() {
            return Ok(());
        }
        if record.event_name == "REMOVE" {
            let connection: Connection = batch::old_image(record)?;
            return self.sockets.close(connection.id()).await;
        }
        let connection: Connection = batch::new_image(record)?;
        match connection.message() {
            Some(message) => self.send(&connection, &message).await,
            None => Ok(()),
        }
    }

    /// If this is repeated after the message went out, it goes out again: better twice than never.
    async fn send(&self, connection: &Connection, message: &ToClient) -> Result<()> {
        if !self.sockets.send(connection.id(), message).await? {
            metrics::LIVE_DEAD.add(1);
            tracing::info!(user_id = %connection.user(), "a connection has died");
            return self
                .connections
                .remove(connection.user(), connection.id())
                .await;
        }
        let now = now_millis();
        metrics::LIVE_MESSAGES.add(1);
        metrics::LIVE_LAG.record(now.saturating_sub(connection.since().millis()));
        self.connections.sent(connection, now).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
