//! Something that is made on first use, shared by all callers that wait for it, and made anew after it broke.

use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use redis::RedisResult;

type Making<T> = Shared<BoxFuture<'static, RedisResult<T>>>;

pub(super) struct Renewable<T: Clone> {
    current: Mutex<Current<T>>,
}

struct Current<T: Clone> {
    generation: u64,
    making: Option<Making<T>>,
}

/// A thing, or the attempt to make it.
pub(super) struct Lease<T: Clone> {
    /// Tells it from the one before and the one after.
    pub(super) generation: u64,
    /// It was there already when it was asked for.
    pub(super) used_before: bool,
    pub(super) making: Making<T>,
}

impl<T: Clone> Default for Renewable<T> {
    fn default() -> Self {
        Self {
            current: Mutex::new(Current {
                generation: 0,
                making: None,
            }),
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Renewable<T> {
    pub(super) fn get(
        &self,
        make: impl FnOnce() -> BoxFuture<'static, RedisResult<T>>,
    ) -> Lease<T> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let used_before = (current.making.as_ref()).is_some_and(|making| making.peek().is_some());
        let making = current.making.get_or_insert_with(|| {
            let making = make().shared();
            // It goes on even if its callers lose patience.
            tokio::spawn(making.clone());
            making
        });
        let making = making.clone();
        Lease {
            generation: current.generation,
            used_before,
            making,
        }
    }

    /// The one of this generation is broken. The next caller makes a new one.
    pub(super) fn forget(&self, generation: u64) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.generation == generation {
            current.generation += 1;
            current.making = None;
        }
    }
}
