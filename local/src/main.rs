//! Roost's local cloud: one process that reads `template.yaml` and does on one machine what AWS would do with it.
//!
//! - [`template`] reads the SAM template, resolves its parameters for this machine, and refuses what it does not know.
//! - [`data`] holds the data: DynamoDB and Kinesis embedded, Redis as a child process.
//! - [`lambda`] runs the real function binaries over the Lambda Runtime API.
//! - [`event_source`] and [`schedule`] call functions for streams and rates.
//! - [`http_api`] is API Gateway with the token issuer of [`jwt`], and serves the page and `/dev`.
//! - [`websocket_api`] is API Gateway for WebSockets, and the API that sends to their connections.
//! - [`events`] tells those who listen what happens.
//! - [`output`] is the terminal: short lines, or everything that the functions write.
//!
//! Nothing here is deployed.

mod cloud;
mod config;
mod data;
mod error;
mod event_source;
mod events;
mod http_api;
mod jwt;
mod lambda;
mod net;
mod output;
mod schedule;
mod template;
mod websocket_api;

use std::process::ExitCode;

use crate::config::Config;
use crate::error::StartError;

/// The tables and streams allocate for every item. They share the machine with all functions, so tests wait for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("roost-local: {error}");
            ExitCode::FAILURE
        }
    }
}

/// When this returns, the runtime is dropped, and with it every child process that is still there.
fn run() -> Result<(), StartError> {
    let config = Config::from_env()?;
    // The embedded databases work on the runtime's threads, so there are some more of them than cores on a small machine.
    let threads = std::thread::available_parallelism().map_or(4, |cores| cores.get().max(4));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(StartError::Signals)?;
    runtime.block_on(cloud::run(config))
}
