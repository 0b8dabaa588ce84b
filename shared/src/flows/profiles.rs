//! Changing a profile, in the table and in what is cached of it.

use crate::domain::event::OutdatedCounts;
use crate::domain::{ProfileChange, User, UserId};
use crate::platform::Roost;
use crate::stores::handovers::Work;
use crate::stores::{Cards, HandOvers, Users};
use crate::{Error, Result};

pub struct Profiles {
    users: Users,
    cards: Cards,
    later: HandOvers,
}

impl Profiles {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            cards: Cards::new(roost)?,
            later: HandOvers::new(roost, Work::Tiers)?,
        })
    }

    /// Changes the profile. Every page that is read after this shows it.
    ///
    /// The card is closed first: if we are stopped half-way, readers ask the table until the closed card expires.
    pub async fn change(&self, me: UserId, change: &ProfileChange) -> Result<User> {
        if !change.is_empty()
            && let Err(error) = self.cards.close(me).await
        {
            tracing::warn!(error = error.chain(), "card not closed before a change");
        }
        let row = self.users.change(me, change).await?;
        if !change.is_empty() {
            self.show(me).await?;
        }
        row.map(User::from).ok_or(Error::NoProfile)
    }

    /// The change is in the table, so a cache that fails must not take it back. It is told later.
    async fn show(&self, me: UserId) -> Result<()> {
        let Err(error) = self.cards.forget_users(&[me]).await else {
            return Ok(());
        };
        tracing::warn!(error = error.chain(), "card not forgotten yet");
        let outdated = OutdatedCounts { outdated: vec![me] };
        self.later.put([(me.to_string(), outdated)]).await
    }
}
