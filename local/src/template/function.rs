//! A function: its binary, its environment, its limits, and the events that call it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::api::{ROUTE, Route};
use super::event_source::{EVENT_SOURCE, EventSource};
use super::intrinsics::{STACK, Unresolved, plain};
use super::names::kebab_case;
use super::properties::{Known, Properties, mistake};
use super::resource::Resource;
use super::schedule::{SCHEDULE, Schedule};

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) logical_id: String,
    /// Its name at AWS.
    pub(crate) name: String,
    /// The executable's name, which is also how the terminal calls the function.
    pub(crate) binary: String,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) timeout: Duration,
    pub(crate) memory_mb: u64,
    pub(crate) reserved_concurrency: Option<u64>,
    /// `JSON` or `Text`.
    pub(crate) log_format: Option<String>,
    /// The least important log lines that the function should write.
    pub(crate) log_level: Option<String>,
    pub(crate) routes: Vec<Route>,
    pub(crate) event_sources: Vec<EventSource>,
    pub(crate) schedules: Vec<Schedule>,
}

const FUNCTION: Known = Known {
    of: "a function",
    file: file!(),
    read: &[
        "Environment",
        "Events",
        "FunctionName",
        "LoggingConfig",
        "MemorySize",
        "ReservedConcurrentExecutions",
        "Timeout",
    ],
    no_effect: &[
        // What runs is the binary that cargo built for this machine.
        "Architectures",
        "CodeUri",
        "Handler",
        "PackageType",
        "Runtime",
        // Nobody checks permissions.
        "AssumeRolePolicyDocument",
        "PermissionsBoundary",
        "Policies",
        "Role",
        "RolePath",
        // Everything listens on 127.0.0.1, and the environment is not encrypted.
        "KmsKeyArn",
        "VpcConfig",
        // The disk is this machine's.
        "EphemeralStorage",
        // Nobody looks at traces or asks for descriptions and tags.
        "Description",
        "PropagateTags",
        "Tags",
        "Tracing",
    ],
};

const ENVIRONMENT: Known = Known {
    of: "a function's environment",
    file: file!(),
    read: &["Variables"],
    no_effect: &[],
};

const LOGGING: Known = Known {
    of: "a function's logging",
    file: file!(),
    read: &["ApplicationLogLevel", "LogFormat"],
    // Lines go to the terminal, and Lambda's own lines do not exist here.
    no_effect: &["LogGroup", "SystemLogLevel"],
};

const EVENT: Known = Known {
    of: "an event",
    file: file!(),
    read: &["Properties", "Type"],
    no_effect: &[],
};

impl Function {
    /// `globals` is what all functions share.
    pub(super) fn read(resource: &Resource<'_>, globals: &Value) -> Result<Self, Unresolved> {
        let value = resource.properties_over(globals, &FUNCTION)?;
        let properties = Properties::new(&value, &resource.place);
        let environment = properties
            .section("Environment", &ENVIRONMENT)?
            .entries("Variables")
            .map(|(variable, value)| (variable.clone(), plain(value)))
            .collect();
        let logging = properties.section("LoggingConfig", &LOGGING)?;
        let name = resource.name()?;
        let mut function = Self {
            logical_id: resource.logical_id.to_owned(),
            binary: binary(resource, &name),
            name,
            environment,
            timeout: Duration::from_secs(properties.number("Timeout")?.unwrap_or(3)),
            memory_mb: properties.number("MemorySize")?.unwrap_or(128),
            reserved_concurrency: properties.number("ReservedConcurrentExecutions")?,
            log_format: logging.text("LogFormat"),
            log_level: logging.text("ApplicationLogLevel"),
            routes: vec![],
            event_sources: vec![],
            schedules: vec![],
        };
        for (event, declaration) in properties.entries("Events") {
            let place = format!("{}.Events.{event}", properties.place);
            let declared = &resource.declaration["Properties"]["Events"][event];
            function.add_event(event, declaration, declared, &place)?;
        }
        Ok(function)
    }

    /// Adds one of the events that call the function. `declared` is how it stands in the template.
    fn add_event(
        &mut self,
        event: &str,
        resolved: &Value,
        declared: &Value,
        place: &str,
    ) -> Result<(), Unresolved> {
        EVENT.check(resolved, place)?;
        let Some(event_type) = resolved["Type"].as_str() else {
            return Err(mistake(place, "has no Type"));
        };
        let known = match event_type {
            "HttpApi" => &ROUTE,
            "DynamoDB" | "Kinesis" => &EVENT_SOURCE,
            "Schedule" | "ScheduleV2" => &SCHEDULE,
            other => {
                let message = format!(
                    "the local cloud does not know events of type {other}; teach it in {}",
                    file!()
                );
                return Err(mistake(place, message));
            }
        };
        let empty = json!({});
        let value = resolved.get("Properties").unwrap_or(&empty);
        let properties = Properties::new(value, &format!("{place}.Properties"));
        known.check(value, &properties.place)?;
        match event_type {
            "HttpApi" => {
                let api = declared["Properties"].get("ApiId");
                self.routes.push(Route::read(api, &properties)?);
            }
            "DynamoDB" | "Kinesis" => self
                .event_sources
                .extend(EventSource::read(event_type, &properties)?),
            _ => {
                let name = format!("{}{event}", self.logical_id);
                self.schedules.extend(Schedule::read(name, &properties)?);
            }
        }
        Ok(())
    }
}

/// What cargo-lambda is told to build, or the function's name, or its logical id.
fn binary(resource: &Resource<'_>, name: &str) -> String {
    let metadata = &resource.declaration["Metadata"];
    let built = ["BuildProperties", "Properties"]
        .iter()
        .find_map(|key| metadata[key]["Binary"].as_str());
    let is_named = resource.declaration["Properties"]
        .get("FunctionName")
        .is_some();
    match built {
        Some(binary) => binary.to_owned(),
        None if is_named => name.trim_start_matches(&format!("{STACK}-")).to_owned(),
        None => {
            let id = resource.logical_id;
            kebab_case(id.strip_suffix("Function").unwrap_or(id))
        }
    }
}
