//! What the environment decides: ports, folders, the template's path and how much is shown. Template parameters are
//! read from the environment too, but by name, in [`crate::template`].

use std::env;
use std::path::PathBuf;

use crate::error::StartError;

/// The port of each service. 0 means that the system picks a free one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Port {
    pub(crate) variable: &'static str,
    pub(crate) number: u16,
}

#[derive(Debug)]
pub(crate) struct Config {
    /// The SAM template (`ROOST_TEMPLATE`, default `template.yaml`).
    pub(crate) template: PathBuf,
    /// Where the function binaries are (`ROOST_BIN_DIR`, default: beside this executable).
    pub(crate) binaries: PathBuf,
    /// Where `endpoints.json`, `env` and the buckets go (`ROOST_STATE_DIR`, default `.roost`).
    pub(crate) state: PathBuf,
    /// The page that is served at `/` (`ROOST_WEB_DIR`, default `local/web`).
    pub(crate) web: PathBuf,
    /// Whether functions' output is passed on as it was written (`ROOST_VERBOSE`, default `false`).
    pub(crate) verbose: bool,
    /// Whether streams are polled as often as Lambda does, instead of read when they are written
    /// (`ROOST_LAMBDA_POLLING`, default `false`).
    pub(crate) lambda_polling: bool,
    pub(crate) http: Port,
    pub(crate) dynamodb: Port,
    pub(crate) kinesis: Port,
    pub(crate) redis: Port,
    pub(crate) lambda: Port,
    pub(crate) websocket: Port,
}

impl Config {
    pub(crate) fn from_env() -> Result<Self, StartError> {
        let path = |variable: &str, default: &str| {
            env::var_os(variable)
                .filter(|value| !value.is_empty())
                .map_or_else(|| default.into(), PathBuf::from)
        };
        let beside_this_executable = env::current_exe()
            .ok()
            .and_then(|executable| {
                executable
                    .parent()
                    .map(|folder| folder.display().to_string())
            })
            .unwrap_or_else(|| "target/debug".to_owned());
        Ok(Self {
            template: path("ROOST_TEMPLATE", "template.yaml"),
            binaries: path("ROOST_BIN_DIR", &beside_this_executable),
            state: path("ROOST_STATE_DIR", ".roost"),
            web: path("ROOST_WEB_DIR", "local/web"),
            verbose: flag("ROOST_VERBOSE")?,
            lambda_polling: flag("ROOST_LAMBDA_POLLING")?,
            http: port("HTTP_PORT", 9000)?,
            dynamodb: port("DYNAMODB_PORT", 9001)?,
            kinesis: port("KINESIS_PORT", 9002)?,
            redis: port("REDIS_PORT", 9003)?,
            lambda: port("LAMBDA_PORT", 9004)?,
            websocket: port("WEBSOCKET_PORT", 9005)?,
        })
    }
}

fn flag(variable: &'static str) -> Result<bool, StartError> {
    match env::var(variable).unwrap_or_default().as_str() {
        "true" | "1" => Ok(true),
        "false" | "0" | "" => Ok(false),
        value => Err(StartError::NotAFlag {
            variable,
            value: value.to_owned(),
        }),
    }
}

fn port(variable: &'static str, default: u16) -> Result<Port, StartError> {
    let number = match env::var(variable) {
        Ok(value) if !value.is_empty() => value.parse().map_err(|_| StartError::NotAPort {
            variable,
            value: value.clone(),
        })?,
        _ => default,
    };
    Ok(Port { variable, number })
}
