//! What a caller is to the people on a page.

use std::collections::HashMap;

use crate::Result;
use crate::domain::{Relation, Relationship, UserId};
use crate::platform::Roost;
use crate::stores::follows::Edge;
use crate::stores::{Following, Relations};

pub struct Relationships {
    following: Following,
    relations: Relations,
}

impl Relationships {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            following: Following::new(roost)?,
            relations: Relations::new(roost)?,
        })
    }

    /// The relationship of `me` to each of these people. To oneself there is none.
    ///
    /// For a page of a hundred people this is four BatchGetItem of a hundred keys, at the same time: 300 read units for
    /// whom the caller follows, mutes and blocks, which must agree with what they did last, and 50 for who follows the caller.
    pub async fn of(&self, me: UserId, people: &[UserId]) -> Result<HashMap<UserId, Relationship>> {
        let others = || people.iter().filter(|other| **other != me);
        let to: Vec<Edge> = others().map(|other| Edge::new(me, *other)).collect();
        let from: Vec<Edge> = others().map(|other| Edge::new(*other, me)).collect();
        let ids: Vec<UserId> = others().copied().collect();
        let (following, followers, muted, blocked) = tokio::try_join!(
            self.following.existing(&to, true),
            self.following.existing(&from, false),
            self.relations.standing(Relation::Mute, me, &ids),
            self.relations.standing(Relation::Block, me, &ids)
        )?;
        let relationship = |other: UserId| Relationship {
            following: following.contains(&Edge::new(me, other)),
            followed_by: followers.contains(&Edge::new(other, me)),
            muting: muted.contains(&other),
            blocking: blocked.contains(&other),
        };
        let people = people.iter().map(|other| (*other, relationship(*other)));
        Ok(people.collect())
    }
}
