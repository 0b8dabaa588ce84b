//! Making and ending a relation between two people: a mute.

use crate::domain::{Relation, UserId};
use crate::platform::{Roost, now_millis};
use crate::stores::relations::Added;
use crate::stores::{Excluded, Relations, Users};
use crate::{Error, Result};

pub struct Relating {
    users: Users,
    relations: Relations,
    excluded: Excluded,
}

impl Relating {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            relations: Relations::new(roost)?,
            excluded: Excluded::new(roost)?,
        })
    }

    /// From now on the relation stands, for every reader.
    pub async fn make(&self, relation: Relation, me: UserId, other: UserId) -> Result<()> {
        check(relation, me, other)?;
        self.users.get(other).await?;
        let change = self.excluded.begin_change(&[me]).await?;
        let added = self.relations.add(relation, me, other, now_millis()).await;
        self.excluded.end_change(change).await?;
        if added? == Added::TooMany {
            return Err(Error::Invalid(format!(
                "you {} {} people already, which is the most",
                relation.verb(),
                Relation::MOST
            )));
        }
        self.undo_without_profiles(relation, me, other).await
    }

    /// From now on it does not stand any more.
    pub async fn end(&self, relation: Relation, me: UserId, other: UserId) -> Result<()> {
        check(relation, me, other)?;
        let change = self.excluded.begin_change(&[me]).await?;
        let removed = self.relations.remove(relation, me, other).await;
        self.excluded.end_change(change).await?;
        removed.map(drop)
    }

    /// One of the two accounts may have been deleted meanwhile, and its relations perhaps before this one was made.
    async fn undo_without_profiles(
        &self,
        relation: Relation,
        me: UserId,
        other: UserId,
    ) -> Result<()> {
        let exist = tokio::try_join!(self.users.still_exists(me), self.users.still_exists(other))?;
        let error = match exist {
            (true, true) => return Ok(()),
            (true, false) => Error::NotFound(format!("there is no user {other}")),
            (false, _) => Error::NoProfile,
        };
        self.end(relation, me, other).await?;
        Err(error)
    }
}

fn check(relation: Relation, me: UserId, other: UserId) -> Result<()> {
    if other == me {
        let text = format!("you cannot {} yourself", relation.verb());
        return Err(Error::Invalid(text));
    }
    Ok(())
}
