//! Functions that run on a schedule: no input, no answer.

use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;

use super::Exit;
use crate::Result;
use crate::platform::{Roost, metrics};

/// One scheduled function: what it needs, and what it does.
pub trait Job: Sized {
    fn new(roost: &Roost) -> Result<Self>;

    fn run(&self) -> impl Future<Output = Result<()>>;
}

/// Runs the function.
pub async fn serve<J: Job>() -> Exit {
    let job = J::new(&Roost::start().await?)?;
    lambda_runtime::run(service_fn(async |_: LambdaEvent<Value>| {
        let result = job.run().await;
        metrics::flush();
        result.map_err(lambda_runtime::Error::from)
    }))
    .await
}
