//! What did not answer while a page was read. The page is made all the same, and says so.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// Redis did not answer.
    CacheUnavailable,
    /// The cache did not know, and the tables did not answer.
    TablesUnavailable,
    /// It could not be found out which followed authors are celebrities, or what one of them posted.
    CelebritiesUnavailable,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Troubles(BTreeSet<Trouble>);

impl Troubles {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The result, or `None` and a trouble: the cache's if Redis failed, else `otherwise`.
    pub(super) fn note<T>(&mut self, otherwise: Trouble, result: Result<T>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let trouble = match error {
            Error::Redis(_) | Error::RedisDown => Trouble::CacheUnavailable,
            _ => otherwise,
        };
        tracing::warn!(error = error.chain(), ?trouble, "page degraded");
        self.0.insert(trouble);
        None
    }
}
