//! What a follow or an unfollow means for what the follower is shown.

use crate::Result;
use crate::stores::follows::Edge;
use crate::stores::{Follows, Timelines};

/// How often the edge may change under our hands before the stream's consumer is left to settle it.
const ATTEMPTS: usize = 4;

/// Makes `unfollowed:{follower}` agree with the edge, which the caller just made or removed (`followed`).
///
/// The edge is looked at again after the write: if somebody else changed it meanwhile, their write to Redis may have
/// come before ours, and ours would stand for a state that is gone.
pub async fn settle(
    follows: &Follows,
    timelines: &Timelines,
    edge: Edge,
    mut followed: bool,
) -> Result<bool> {
    for _ in 0..ATTEMPTS {
        if followed {
            timelines.unhide(edge.follower(), edge.followee()).await?;
        } else {
            timelines.hide(edge.follower(), edge.followee()).await?;
        }
        let now = follows.exists(edge).await?;
        if now == followed {
            break;
        }
        followed = now;
    }
    Ok(followed)
}
