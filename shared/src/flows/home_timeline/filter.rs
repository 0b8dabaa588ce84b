//! The filter stage: what a reader must not see, as far as an entry tells.
//!
//! Tweets that were deleted are dropped later, by the hydration, because only it looks at them. So are the repeats of one
//! tweet: whether an older place of it counts depends on whether that place still stands.

use std::collections::HashSet;

use crate::domain::{Entry, Relation, UserId};

#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    /// Authors who were unfollowed. Others may repost their tweets, as they may repost anybody's.
    strangers: HashSet<UserId>,
    /// Authors who were muted or blocked, who blocked the reader, or whose account was deleted. What they wrote is not shown,
    /// whoever reposts it, and neither is what they repost.
    excluded: HashSet<UserId>,
}

impl Filter {
    pub(super) fn new(strangers: HashSet<UserId>, excluded: HashSet<UserId>) -> Self {
        Self {
            strangers,
            excluded,
        }
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.strangers.extend(other.strangers);
        self.excluded.extend(other.excluded);
    }

    pub(super) fn exclude(&mut self, authors: impl IntoIterator<Item = UserId>) {
        self.excluded.extend(authors);
    }

    /// `true` if nothing that this author posts is shown.
    pub(super) fn hides(&self, author: UserId) -> bool {
        self.strangers.contains(&author) || self.excluded.contains(&author)
    }

    pub(super) fn shows(&self, entry: &Entry) -> bool {
        !self.hides(entry.author) && !self.excluded.contains(&entry.shown().author)
    }

    /// `true` if more people may have blocked the reader than are known here.
    pub(super) fn may_lack_blockers(&self) -> bool {
        u64::try_from(self.excluded.len()).is_ok_and(|known| known >= Relation::MOST)
    }
}
