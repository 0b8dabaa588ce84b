//! What a caller is to the people on a page.

use std::collections::HashMap;

use crate::Result;
use crate::domain::{Relationship, UserId};
use crate::platform::Roost;
use crate::stores::Following;
use crate::stores::follows::Edge;

pub struct Relationships {
    following: Following,
}

impl Relationships {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            following: Following::new(roost)?,
        })
    }

    /// The relationship of `me` to each of these people. To oneself there is none.
    ///
    /// For a page of a hundred people this is two BatchGetItem of a hundred keys, at the same time: 100 read units for
    /// whom the caller follows, which must agree with what they did last, and 50 for who follows the caller.
    pub async fn of(&self, me: UserId, people: &[UserId]) -> Result<HashMap<UserId, Relationship>> {
        let others = || people.iter().filter(|other| **other != me);
        let to: Vec<Edge> = others().map(|other| Edge::new(me, *other)).collect();
        let from: Vec<Edge> = others().map(|other| Edge::new(*other, me)).collect();
        let (following, followers) = tokio::try_join!(
            self.following.existing(&to, true),
            self.following.existing(&from, false)
        )?;
        let relationship = |other: UserId| Relationship {
            following: following.contains(&Edge::new(me, other)),
            followed_by: followers.contains(&Edge::new(other, me)),
        };
        let people = people.iter().map(|other| (*other, relationship(*other)));
        Ok(people.collect())
    }
}
