//! The filter stage: what a reader must not see, as far as an entry tells.
//!
//! Tweets that were deleted are dropped later, by the hydration, because only it looks at them.

use std::collections::HashSet;

use crate::domain::{Entry, UserId};

#[derive(Default)]
pub(super) struct Filter {
    /// Authors who were unfollowed, muted or blocked, who blocked the reader, or whose account was deleted.
    hidden_authors: HashSet<UserId>,
}

impl Filter {
    pub(super) fn hide_authors(&mut self, authors: impl IntoIterator<Item = UserId>) {
        self.hidden_authors.extend(authors);
    }

    /// For the merge, which must not count what is not shown.
    pub(super) const fn hidden_authors(&self) -> &HashSet<UserId> {
        &self.hidden_authors
    }

    pub(super) fn hides(&self, author: UserId) -> bool {
        self.hidden_authors.contains(&author)
    }

    pub(super) fn shows(&self, entry: &Entry) -> bool {
        !self.hides(entry.author)
    }

    pub(super) fn apply(&self, mut candidates: Vec<Entry>) -> Vec<Entry> {
        candidates.retain(|entry| self.shows(entry));
        candidates
    }
}
