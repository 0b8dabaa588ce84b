//! What a follow or an unfollow means for what the follower is shown.

use crate::Result;
use crate::platform::Roost;
use crate::stores::follows::Edge;
use crate::stores::{Celebs, Following, Hidden, Timelines};

/// How often the edge may change meanwhile before it is left to the stream's consumer.
const ATTEMPTS: usize = 4;

/// Makes what is cached for a follower agree with an edge.
pub struct EdgeSettler {
    following: Following,
    hidden: Hidden,
    timelines: Timelines,
    celebs: Celebs,
}

impl EdgeSettler {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            following: Following::new(roost)?,
            hidden: Hidden::new(roost)?,
            timelines: Timelines::new(roost)?,
            celebs: Celebs::new(roost)?,
        })
    }

    /// To be called after the edge was made (`followed`) or removed. Gives what the edge is in the end.
    ///
    /// The edge is looked at again after the write: if somebody else changed it meanwhile, their write to Redis may have
    /// come before ours, and ours would stand for a state that is over.
    pub async fn settle(&self, edge: Edge, mut followed: bool) -> Result<bool> {
        let (follower, followee) = (edge.follower(), edge.followee());
        let mut taken_out = false;
        for _ in 0..ATTEMPTS {
            if followed {
                self.hidden.unhide(follower, followee).await?;
                if taken_out {
                    // A backfill may have come before we took the entries out. The list is read from the tables again.
                    self.timelines.forget(follower).await?;
                }
            } else {
                // First hidden, then taken out: nothing that arrives in between is shown.
                self.hidden.hide(follower, followee).await?;
                self.timelines.remove_author(follower, followee).await?;
                self.celebs.remove(&[follower], followee).await?;
                taken_out = true;
            }
            let now = self.following.contains(edge).await?;
            if now == followed {
                break;
            }
            followed = now;
        }
        Ok(followed)
    }

    /// To be called if an unfollow found no edge. If something of the author is cached all the same, an earlier attempt
    /// has removed the edge and failed before it could settle it.
    ///
    /// Nothing is remembered of anybody else: a caller can unfollow any number of strangers. An entry that is on its way
    /// from the author at this moment is left to `apply-follows`, which meets the removed edge in its stream.
    pub async fn settle_leftovers(&self, edge: Edge) -> Result<()> {
        let (follower, followee) = (edge.follower(), edge.followee());
        if self.timelines.has_author(follower, followee).await? {
            self.settle(edge, false).await?;
        }
        Ok(())
    }
}
