//! The order stage: how the candidates of a page are arranged.

use super::walk::Candidate;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Newest first.
    Latest,
}

impl Order {
    /// `candidates` come newest first.
    pub(super) fn arrange(self, candidates: Vec<Candidate>) -> Vec<Candidate> {
        match self {
            Self::Latest => candidates,
        }
    }
}
