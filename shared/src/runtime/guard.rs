//! A panic fails what was being done, like an error does, and the sandbox lives on.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::{Error, Result};

/// Turns a panic into an error.
pub(super) async fn guarded<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(Error::Panicked(panic_text(panic.as_ref()))))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .to_owned()
}
