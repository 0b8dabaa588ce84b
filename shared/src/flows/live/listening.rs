//! A user connects or is still connected. The table `live` holds the truth; Redis holds what deliveries ask for.

use super::super::followees::FolloweeReader;
use super::restoring;
use crate::Result;
use crate::domain::UserId;
use crate::platform::{Roost, now_millis};
use crate::stores::notices::Notice;
use crate::stores::{Listeners, Notices};

pub struct Listening {
    listeners: Listeners,
    notices: Notices,
    followees: FolloweeReader,
}

impl Listening {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            listeners: Listeners::new(roost)?,
            notices: Notices::new(roost)?,
            followees: FolloweeReader::new(roost)?,
        })
    }

    /// The user has connected. What came meanwhile is told soon.
    pub async fn begin(&self, user: UserId) -> Result<()> {
        let is_complete = self.join(user).await?;
        if !is_complete {
            // Perhaps others are connected whom Redis has forgotten. If not, that is found out soon.
            restoring::ask(&self.listeners, &self.notices).await?;
        }
        Ok(())
    }

    /// Puts the user where deliveries look. `false` if others may be missing there.
    pub async fn join(&self, user: UserId) -> Result<bool> {
        let now = now_millis();
        // First the notice: a score in the set means that there is one.
        self.notices.put(&[Notice::new(user, now)]).await?;
        let is_complete = self.listeners.add(user, now).await?;
        // After the set: a tier change that does not find the user there has changed before this looks.
        self.follow_celebrities(user).await?;
        Ok(is_complete)
    }

    /// The user is still there. Repairs what Redis may have lost.
    pub async fn go_on(&self, user: UserId) -> Result<()> {
        if !self.listeners.knows(user).await? {
            // Boxed, because it is rarely needed and would make the future of every ping larger.
            return Box::pin(self.begin(user)).await;
        }
        if self.listeners.may_renew_fan(user).await? {
            self.follow_celebrities(user).await?;
        }
        Ok(())
    }

    async fn follow_celebrities(&self, user: UserId) -> Result<()> {
        let celebs = self.followees.celebs(user).await?;
        self.listeners.add_fan(user, &celebs, now_millis()).await
    }
}
