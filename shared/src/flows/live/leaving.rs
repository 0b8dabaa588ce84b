//! A connection has ended, with or without a word.

use crate::Result;
use crate::domain::UserId;
use crate::domain::live::FRESH_MS;
use crate::platform::{Roost, now_millis};
use crate::stores::{Connections, Listeners};

pub struct Leaving {
    connections: Connections,
    listeners: Listeners,
}

impl Leaving {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            connections: Connections::new(roost)?,
            listeners: Listeners::new(roost)?,
        })
    }

    /// Forgets the user in Redis if no connection is left.
    pub async fn end(&self, user: UserId) -> Result<()> {
        if self.is_connected(user).await? {
            return Ok(());
        }
        self.listeners.remove(user).await?;
        // Perhaps the user has come back in between, and was taken out again. No notice of theirs may count as fresh.
        if self.is_connected(user).await? {
            let before = now_millis().saturating_sub(FRESH_MS);
            self.listeners.add(&[user], before).await?;
        }
        Ok(())
    }

    async fn is_connected(&self, user: UserId) -> Result<bool> {
        let connections = self.connections.of_user(user).await?;
        Ok(!connections.is_empty())
    }
}
