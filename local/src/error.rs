//! Why the local cloud could not start: each variant is one clear line for the person who typed `make run`.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("{}: {place}: {message}", file.display())]
    Template {
        file: PathBuf,
        /// `line 12, column 3` or `Resources.TweetsTable.Properties.KeySchema`.
        place: String,
        message: String,
    },
    #[error("{variable}={value} is not a port (0 to 65535; 0 picks a free one)")]
    NotAPort {
        variable: &'static str,
        value: String,
    },
    #[error("{variable}={value} is neither true nor false")]
    NotAFlag {
        variable: &'static str,
        value: String,
    },
    #[error(
        "port {port} is taken, perhaps by another `make run`: stop that one, or set {variable} to another port (0 picks a free one)"
    )]
    PortTaken { port: u16, variable: &'static str },
    #[error("cannot listen on port {port} ({variable}): {source}")]
    Listen {
        port: u16,
        variable: &'static str,
        source: std::io::Error,
    },
    #[error("neither redis-server nor valkey-server is on the PATH; install one of them")]
    RedisMissing,
    #[error("{program} did not start: {reason}")]
    RedisFailed { program: String, reason: String },
    #[error("no binary {} for {function}; build it with `cargo build --workspace` or set ROOST_BIN_DIR", path.display())]
    MissingBinary { function: String, path: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    StateDirectory {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("DynamoDB: {0}")]
    DynamoDb(String),
    #[error("Kinesis: {0}")]
    Kinesis(String),
    #[error("local token issuer: {0}")]
    Issuer(String),
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
}
