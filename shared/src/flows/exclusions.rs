//! The authors whom a reader must not be shown, if Redis does not know them.

use std::collections::HashSet;

use crate::Result;
use crate::domain::UserId;
use crate::platform::Roost;
use crate::stores::{Excluded, FillToken, Relations};

pub struct Exclusions {
    relations: Relations,
    excluded: Excluded,
}

impl Exclusions {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            relations: Relations::new(roost)?,
            excluded: Excluded::new(roost)?,
        })
    }

    /// What the table says.
    pub async fn read(&self, me: UserId) -> Result<HashSet<UserId>> {
        self.relations.excluded(me).await
    }

    /// What the table says, and remembers it. A cache that fails is filled by the next reader.
    pub async fn find(&self, me: UserId) -> Result<HashSet<UserId>> {
        let token = self.excluded.begin_fill(me).await;
        let authors = self.relations.excluded(me).await?;
        if let Err(error) = self.remember(me, token, &authors).await {
            tracing::warn!(error = error.chain(), "excluded authors not cached");
        }
        Ok(authors)
    }

    async fn remember(
        &self,
        me: UserId,
        token: Result<Option<FillToken>>,
        authors: &HashSet<UserId>,
    ) -> Result<()> {
        match token? {
            Some(token) => self.excluded.finish_fill(me, token, authors).await,
            None => Ok(()),
        }
    }
}
