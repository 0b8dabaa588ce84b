//! The SAM template, read into what this machine can run: tables, streams, functions with their event sources, HTTP
//! and WebSocket APIs. What has no meaning here (roles, networks, caches, alarms) is listed as such; anything else is refused, so
//! that nothing is skipped in silence.
//!
//! - [`yaml`] reads the file, [`parameters`] gives its parameters values, [`rules`] says which of them go together, and
//!   [`intrinsics`] works out what depends on them.
//! - [`resource`] lists the resource types. [`table`], [`stream`], [`function`], [`api`] and [`websocket_api`] each read one of them, and
//!   [`event_source`] and [`schedule`] what calls a function.
//! - [`properties`] refuses what none of them knows.

mod api;
mod event_source;
mod function;
mod intrinsics;
mod names;
mod parameters;
mod properties;
mod resource;
mod rules;
mod schedule;
mod stream;
mod table;
mod websocket_api;
mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

pub(crate) use self::api::{Authorizer, Cors};
pub(crate) use self::event_source::{EventSource, Source};
pub(crate) use self::function::Function;
pub(crate) use self::intrinsics::{ACCOUNT, REGION, STACK, function_arn};
pub(crate) use self::schedule::Schedule;
pub(crate) use self::stream::Stream;
pub(crate) use self::table::Table;
pub(crate) use self::websocket_api::WebSocketApi;

use self::api::{HTTP_API, HttpApi, IMPLICIT_API};
use self::intrinsics::{Resolver, Unresolved};
use self::properties::{Known, mistake};
use self::resource::{Kind, Resource};
use self::websocket_api::RouteResponse;
use crate::error::StartError;

/// The only transformation that the local cloud knows: SAM's.
const TRANSFORM: &str = "AWS::Serverless-2016-10-31";

const TEMPLATE: Known = Known {
    of: "a template",
    file: file!(),
    read: &[
        "Conditions",
        "Globals",
        "Mappings",
        "Parameters",
        "Resources",
        "Rules",
        "Transform",
    ],
    // For people, tools and other stacks.
    no_effect: &[
        "AWSTemplateFormatVersion",
        "Description",
        "Metadata",
        "Outputs",
    ],
};

const GLOBALS: Known = Known {
    of: "Globals",
    file: file!(),
    read: &["Function", "HttpApi"],
    no_effect: &[],
};

/// A template as it stands in its file, before parameters have values.
pub(crate) struct Template {
    file: PathBuf,
    document: Value,
}

/// What a template asks for.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    /// The value of every parameter, by its name in snake case.
    pub(crate) parameters: Map<String, Value>,
    pub(crate) tables: Vec<Table>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) functions: Vec<Function>,
    pub(crate) apis: BTreeMap<String, HttpApi>,
    pub(crate) websocket_api: Option<WebSocketApi>,
}

/// What this machine has that a template refers to.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    /// What each secret says, by its ARN.
    pub(crate) secrets: BTreeMap<String, String>,
    /// Where WebSocket APIs listen: `ws://localhost:9005`.
    pub(crate) websocket_url: String,
}

impl Template {
    pub(crate) fn read(file: &Path) -> Result<Self, StartError> {
        let failed = |place: String, message: String| StartError::Template {
            file: file.to_owned(),
            place,
            message,
        };
        let text = std::fs::read_to_string(file)
            .map_err(|error| failed("file".to_owned(), error.to_string()))?;
        let document = yaml::parse(&text).map_err(|error| failed(error.place, error.message))?;
        if !document["Resources"].is_object() {
            return Err(failed("Resources".to_owned(), "there are none".to_owned()));
        }
        Ok(Self {
            file: file.to_owned(),
            document,
        })
    }

    /// The template with every parameter set: `given` wins over the environment, the environment over the default.
    pub(crate) fn resolve(
        &self,
        given: &BTreeMap<&str, String>,
        machine: Machine,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Stack, StartError> {
        self.check()
            .and_then(|()| parameters::values(&self.document, given, environment))
            .and_then(|parameters| self.stack(parameters, machine))
            .map_err(|error| StartError::Template {
                file: self.file.clone(),
                place: error.place,
                message: error.message,
            })
    }

    /// Refuses what can be seen without values.
    fn check(&self) -> Result<(), Unresolved> {
        TEMPLATE.check(&self.document, "document")?;
        GLOBALS.check(&self.document["Globals"], "Globals")?;
        intrinsics::check(&self.document, "")?;
        match &self.document["Transform"] {
            Value::Null => Ok(()),
            Value::String(name) if name == TRANSFORM => Ok(()),
            other => {
                let message = format!("the local cloud knows {TRANSFORM} only, not {other}");
                Err(mistake("Transform", message))
            }
        }
    }

    fn stack(
        &self,
        parameters: BTreeMap<String, Value>,
        machine: Machine,
    ) -> Result<Stack, Unresolved> {
        let mut stack = Stack {
            parameters: parameters::shown(&self.document, &parameters),
            ..Stack::default()
        };
        let resolver = Resolver::new(&self.document, parameters)
            .with_secrets(machine.secrets)
            .with_websocket_url(machine.websocket_url);
        rules::check(&self.document, &resolver)?;
        let globals = &self.document["Globals"];
        let mut route_responses = vec![];
        let mut mappings = vec![];
        for (logical_id, declaration) in
            self.document["Resources"].as_object().into_iter().flatten()
        {
            let resource = Resource::new(logical_id, declaration, &resolver)?;
            if !resource.exists()? {
                continue;
            }
            match resource.kind {
                Kind::Table => stack.tables.push(Table::read(&resource)?),
                Kind::Stream => stack.streams.push(Stream::read(&resource)?),
                Kind::Function => {
                    let function = Function::read(&resource, &globals["Function"])?;
                    stack.functions.push(function);
                }
                Kind::HttpApi => {
                    let properties = resource.properties_over(&globals["HttpApi"], &HTTP_API)?;
                    let api = HttpApi::read(&properties, &resource.place)?;
                    stack.apis.insert(logical_id.clone(), api);
                }
                Kind::WebSocketApi if stack.websocket_api.is_some() => {
                    let message = "there is a WebSocket API already, and one port for it";
                    return Err(mistake(&resource.place, message));
                }
                Kind::WebSocketApi => stack.websocket_api = Some(WebSocketApi::read(&resource)?),
                Kind::RouteResponse => route_responses.push(RouteResponse::read(&resource)?),
                Kind::Bucket => table::check_bucket(&resource)?,
                Kind::EventSource => mappings.push((
                    resource.place.clone(),
                    EventSource::read_mapping(&resource)?,
                )),
                Kind::StreamConsumer | Kind::NoEffect => {}
            }
        }
        let mut routes = stack.functions.iter().flat_map(|function| &function.routes);
        if routes.any(|route| route.api == IMPLICIT_API) {
            let place = "Globals.HttpApi";
            let properties = HTTP_API.take(&globals["HttpApi"], place)?;
            let api = HttpApi::read(&resolver.resolve(&properties, place)?, place)?;
            stack.apis.insert(IMPLICIT_API.to_owned(), api);
        }
        for (place, (function, event_source)) in mappings {
            let mut functions = stack.functions.iter_mut();
            match functions.find(|known| known.name == function) {
                Some(known) => known.event_sources.extend(event_source),
                None => return Err(mistake(&place, format!("there is no function {function}"))),
            }
        }
        for response in route_responses {
            response.check(stack.websocket_api.as_mut())?;
        }
        stack.check_references()?;
        Ok(stack)
    }
}

impl Stack {
    /// A missing table or authorizer would otherwise show as an event that never comes.
    fn check_references(&self) -> Result<(), Unresolved> {
        for function in &self.functions {
            let place = format!("Resources.{}.Properties.Events", function.logical_id);
            for event_source in &function.event_sources {
                let known = match &event_source.source {
                    Source::Table { name } => self.tables.iter().any(|table| table.name == *name),
                    Source::Stream { name, .. } => {
                        self.streams.iter().any(|stream| stream.name == *name)
                    }
                };
                if !known {
                    let message = format!("{} is no stream of this template", event_source.arn);
                    return Err(mistake(&place, message));
                }
            }
            for route in &function.routes {
                route.check(&self.apis, &place)?;
            }
        }
        if let Some(api) = &self.websocket_api {
            api.check(&self.functions)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
