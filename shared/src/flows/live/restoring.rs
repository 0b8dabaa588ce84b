//! Redis has lost the connected users. They are read from the table `live`.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::Listening;
use crate::Result;
use crate::platform::{Roost, now_millis};
use crate::stores::connections::Place;
use crate::stores::notices::{EVERYBODY, Notice};
use crate::stores::{Connections, Listeners, Notices};

/// Connections that are read at once.
const PAGE: usize = 500;

/// Users who are looked up at once.
const CONCURRENCY: usize = 8;

/// Asks for it, if nobody did so lately. `notify-readers` does the work.
pub(super) async fn ask(listeners: &Listeners, notices: &Notices) -> Result<()> {
    if listeners.may_restore().await? {
        tracing::info!("who is connected is looked up");
        let notice = Notice::new(EVERYBODY, now_millis());
        notices.put(&[notice]).await?;
    }
    Ok(())
}

pub struct Restoring {
    connections: Connections,
    listeners: Listeners,
    listening: Listening,
}

impl Restoring {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            connections: Connections::new(roost)?,
            listeners: Listeners::new(roost)?,
            listening: Listening::new(roost)?,
        })
    }

    /// Restores the next piece, and has everybody in it told what they missed. Gives the place to go on from, or nothing if
    /// all is there again.
    pub async fn next_piece(&self, from: Option<Place>) -> Result<Option<Place>> {
        self.listeners.go_on_restoring().await?;
        let page = self.connections.page(from, PAGE).await?;
        let joined = page.users.iter().map(|user| self.listening.join(*user));
        let joined: Vec<_> = joined.collect();
        stream::iter(joined)
            .buffer_unordered(CONCURRENCY)
            .try_collect::<Vec<_>>()
            .await?;
        if page.next.is_none() {
            self.listeners.complete().await?;
        }
        Ok(page.next)
    }
}
