use std::time::Duration;

use shared::flows::erase::{Eraser, Hider};
use shared::platform::now_millis;
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::Erasures;
use shared::stores::erasures::Erasure;
use shared::{Result, Roost};

/// How long one record waits for requests that may still write. The erasures behind it wait as well, so it is short.
const NAP: Duration = Duration::from_secs(2);

pub(crate) struct EraseUsers {
    erasures: Erasures,
    hider: Hider,
    eraser: Eraser,
}

impl Consumer for EraseUsers {
    type Record = TableRecord;
    const CHUNK: usize = 1;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            erasures: Erasures::new(roost)?,
            hider: Hider::new(roost)?,
            eraser: Eraser::new(roost)?,
        })
    }

    /// The event source's filter lets only items `erasure#…` through that were put or changed.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        for record in records {
            self.go_on(&batch::new_image(record)?).await?;
        }
        Ok(())
    }
}

impl EraseUsers {
    /// Removes one piece. Its record leads to the next.
    async fn go_on(&self, erasure: &Erasure) -> Result<()> {
        let user = erasure.user();
        if erasure.step == 0 {
            self.hider.hide(user, &erasure.sub).await?;
            self.eraser.disconnect(user).await?;
        }
        // Looked at first: what is written until then is found by the piece behind this line.
        let writers_left = erasure.writers_left(now_millis());
        if self.eraser.next_piece(user).await? {
            tracing::info!(user_id = %user, step = erasure.step, "a piece of an account erased");
            return self.erasures.advance(erasure).await;
        }
        if let Some(left) = writers_left {
            tokio::time::sleep(left.min(NAP)).await;
            return self.erasures.advance(erasure).await;
        }
        self.eraser.last_piece(user).await?;
        self.erasures.finish(erasure).await?;
        tracing::info!(user_id = %user, steps = erasure.step, "account erased");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/erase-users.json");

    #[test]
    fn the_event_is_the_beginning_of_an_erasure() {
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        let erasure: Erasure = batch::new_image(&batch.records[0]).expect("an erasure");
        assert_eq!((erasure.sub.as_str(), erasure.step), ("bob", 0));
    }
}
