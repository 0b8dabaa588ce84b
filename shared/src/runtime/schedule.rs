//! Functions that run on a schedule: no input, no answer.

use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;

use super::metrics;
use crate::Result;

/// Runs the function.
pub async fn serve(handle: impl AsyncFn() -> Result<()>) -> Result<(), lambda_runtime::Error> {
    lambda_runtime::run(service_fn(async |_: LambdaEvent<Value>| {
        let result = handle().await;
        metrics::flush();
        result.map_err(lambda_runtime::Error::from)
    }))
    .await
}
