//! Redis has lost who is connected: the table `live` tells.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::Listening;
use crate::Result;
use crate::platform::Roost;
use crate::stores::connections::Place;
use crate::stores::{Connections, Listeners};

/// Connections that are read at once.
const PAGE: usize = 500;

/// Users who are looked up at once.
const CONCURRENCY: usize = 8;

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
