use futures_util::{StreamExt, TryStreamExt, stream};
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
    ///
    /// First everything is sent, then it is noted, so that nobody waits for the notes. If this is repeated in between, the
    /// messages go out again: better twice than never.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let sent = all(records.iter().map(|record| self.send(record))).await?;
        let sent = sent.into_iter().flatten();
        all(sent.map(|sent| self.note(sent))).await.map(drop)
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
        let is_there = self.sockets.send(connection.id(), &message).await?;
        let at = is_there.then(now_millis);
        Ok(Some(Sent { connection, at }))
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
async fn all<T>(work: impl Iterator<Item = impl Future<Output = Result<T>>>) -> Result<Vec<T>> {
    let work: Vec<_> = work.collect();
    stream::iter(work)
        .buffer_unordered(CONCURRENCY)
        .try_collect()
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
