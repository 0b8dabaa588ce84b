//! Making and ending a relation between two people: a mute or a block.

use super::edges::EdgeSettler;
use crate::domain::{Relation, UserId};
use crate::platform::{Roost, now_millis};
use crate::stores::follows::Edge;
use crate::stores::relations::Added;
use crate::stores::{Excluded, Following, Follows, Relations, Users};
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

    /// From now on the caller is shown nothing of the other one.
    pub async fn mute(&self, me: UserId, other: UserId) -> Result<()> {
        self.make(Relation::Mute, me, other, None).await
    }

    /// From now on the relation stands, for every reader. With `ending`, the edges between the two are gone.
    async fn make(
        &self,
        relation: Relation,
        me: UserId,
        other: UserId,
        ending: Option<&Follows>,
    ) -> Result<()> {
        check(relation, me, other)?;
        self.users.get(other).await?;
        let readers = relation.readers(me, other);
        let change = self.excluded.begin_change(&readers).await?;
        let added = self
            .relations
            .add(relation, me, other, now_millis(), ending)
            .await;
        self.excluded.end_change(change).await?;
        if added? == Added::TooMany {
            return Err(Error::LimitReached(format!(
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
        let readers = relation.readers(me, other);
        let change = self.excluded.begin_change(&readers).await?;
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
            (true, false) => Error::NoUser(other),
            (false, _) => Error::NoProfile,
        };
        self.end(relation, me, other).await?;
        Err(error)
    }
}

/// Blocking takes more than muting: neither of the two may follow the other.
pub struct Blocking {
    relating: Relating,
    follows: Follows,
    following: Following,
    edges: EdgeSettler,
}

impl Blocking {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            relating: Relating::new(roost)?,
            follows: Follows::new(roost)?,
            following: Following::new(roost)?,
            edges: EdgeSettler::new(roost)?,
        })
    }

    /// From now on neither of the two follows the other, or is shown anything of the other.
    ///
    /// The edges go with the block, so nothing has to be done again if this stops half-way: the stream of the edges tells
    /// the rest.
    pub async fn block(&self, me: UserId, other: UserId) -> Result<()> {
        let [to, from] = [Edge::new(me, other), Edge::new(other, me)];
        let (followed, following) =
            tokio::try_join!(self.following.contains(to), self.following.contains(from))?;
        self.relating
            .make(Relation::Block, me, other, Some(&self.follows))
            .await?;
        self.settle(to, followed).await?;
        self.settle(from, following).await
    }

    /// `existed` says whether there was an edge. One that was made after that look is settled by `apply-follows`; until then
    /// both are excluded from each other's pages.
    async fn settle(&self, edge: Edge, existed: bool) -> Result<()> {
        if existed {
            self.edges.settle(edge, false).await.map(drop)
        } else {
            self.edges.settle_leftovers(edge).await
        }
    }
}

fn check(relation: Relation, me: UserId, other: UserId) -> Result<()> {
    if other == me {
        return Err(Error::Yourself(relation.verb()));
    }
    Ok(())
}
