//! An empty Lambda, which answers every event with nothing: what Rust and the Lambda runtime take by themselves. `make
//! bench` starts it beside Roost's functions. It is not deployed.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    run(service_fn(async |_: LambdaEvent<Value>| {
        Ok::<_, Error>(Value::Null)
    }))
    .await
}
