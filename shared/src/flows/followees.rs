//! The people whom somebody follows, by how their tweets arrive.

use super::tiers::AuthorTiers;
use crate::Result;
use crate::domain::{Tier, UserId};
use crate::platform::Roost;
use crate::stores::{Celebs, Following};

pub struct FolloweeReader {
    celebs: Celebs,
    following: Following,
    tiers: AuthorTiers,
}

/// Authors whose tier is flipping are in both groups.
pub struct Followees {
    pub pushed: Vec<UserId>,
    pub pulled: Vec<UserId>,
    /// `true` if one of them is being demoted.
    pub unsettled: bool,
}

impl FolloweeReader {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            celebs: Celebs::new(roost)?,
            following: Following::new(roost)?,
            tiers: AuthorTiers::new(roost)?,
        })
    }

    /// Which of the followed authors are pulled, as Redis knows it, or else as the tables do.
    pub async fn celebs(&self, me: UserId) -> Result<Vec<UserId>> {
        match self.celebs.read(me).await? {
            Some(celebs) => Ok(celebs),
            None => self.find_celebs(me).await,
        }
    }

    /// Looks up which of the followed authors are pulled, and remembers it.
    pub async fn find_celebs(&self, me: UserId) -> Result<Vec<UserId>> {
        let token = self.celebs.begin_fill(me).await?;
        let followees = self.read(me).await?;
        // An author who is being demoted is about to be taken out of this set, and may have been already.
        if !followees.unsettled {
            self.celebs
                .finish_fill(me, token, &followees.pulled)
                .await?;
        }
        Ok(followees.pulled)
    }

    pub async fn read(&self, me: UserId) -> Result<Followees> {
        let following = self.following.all(me).await?;
        let tiers = self.tiers.all(&following).await?;
        let of_tier = |fits: fn(Tier) -> bool| {
            let fitting = following
                .iter()
                .filter(|author| tiers.get(author).is_some_and(|tier| fits(tier.tier)));
            fitting.copied().collect::<Vec<_>>()
        };
        Ok(Followees {
            pushed: of_tier(Tier::pushes),
            pulled: of_tier(Tier::pulls),
            unsettled: !of_tier(|tier| tier == Tier::Demoting).is_empty(),
        })
    }
}
