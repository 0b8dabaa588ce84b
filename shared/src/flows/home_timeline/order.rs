//! The order stage: how the candidates of a page are arranged.

use crate::domain::Entry;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Newest first.
    Latest,
}

impl Order {
    /// `candidates` come newest first.
    pub(super) fn arrange(self, candidates: Vec<Entry>) -> Vec<Entry> {
        match self {
            Self::Latest => candidates,
        }
    }
}
