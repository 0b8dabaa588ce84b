//! How an author's tweets reach their followers.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Pushed to every follower's list when they post.
    #[default]
    Normal,
}
