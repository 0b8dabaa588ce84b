//! What a follow or an unfollow means for what the follower is shown.

use crate::Result;
use crate::platform::Roost;
use crate::stores::follows::Edge;
use crate::stores::{Following, Timelines};

/// How often the edge may change meanwhile before it is left to the stream's consumer.
const ATTEMPTS: usize = 4;

/// Makes `unfollowed:{follower}` agree with an edge.
pub struct EdgeSettler {
    following: Following,
    timelines: Timelines,
}

impl EdgeSettler {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            following: Following::new(roost)?,
            timelines: Timelines::new(roost)?,
        })
    }

    /// To be called after the edge was made (`followed`) or removed. Gives what the edge is in the end.
    ///
    /// The edge is looked at again after the write: if somebody else changed it meanwhile, their write to Redis may have
    /// come before ours, and ours would stand for a state that is over.
    pub async fn settle(&self, edge: Edge, mut followed: bool) -> Result<bool> {
        let (follower, followee) = (edge.follower(), edge.followee());
        for _ in 0..ATTEMPTS {
            if followed {
                self.timelines.unhide(follower, followee).await?;
            } else {
                self.timelines.hide(follower, followee).await?;
            }
            let now = self.following.contains(edge).await?;
            if now == followed {
                break;
            }
            followed = now;
        }
        Ok(followed)
    }
}
