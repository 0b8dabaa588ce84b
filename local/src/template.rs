//! The SAM template, read into what this machine can run: tables, streams, functions with their event sources, HTTP
//! APIs. Everything else in it (roles, networks, caches, alarms) has no meaning here and is passed over.

mod intrinsics;
mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

pub(crate) use self::intrinsics::{ACCOUNT, REGION, function_arn};
use self::intrinsics::{Resolver, STACK, Unresolved, plain};
use crate::error::StartError;
use crate::event_source::delivery::Policy;
use crate::event_source::filter::Filter;

/// A template as it stands in its file, before parameters have values.
pub(crate) struct Template {
    file: PathBuf,
    document: Value,
}

/// What a template asks for.
#[derive(Debug)]
pub(crate) struct Stack {
    pub(crate) tables: Vec<Table>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) functions: Vec<Function>,
    pub(crate) apis: BTreeMap<String, HttpApi>,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// The CreateTable request.
    pub(crate) definition: Value,
    /// The attribute that says when an item expires.
    pub(crate) time_to_live: Option<String>,
    pub(crate) partition_key: String,
}

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) name: String,
    pub(crate) shard_count: u64,
}

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
    /// The least important log lines that the function should write.
    pub(crate) log_level: Option<String>,
    pub(crate) routes: Vec<Route>,
    pub(crate) event_sources: Vec<EventSource>,
    pub(crate) schedules: Vec<Schedule>,
}

#[derive(Debug, Clone)]
pub(crate) struct Route {
    /// Logical id of the API.
    pub(crate) api: String,
    /// Upper case, or `ANY`.
    pub(crate) method: String,
    /// `/v1/users/{id}`, or `$default`.
    pub(crate) path: String,
    /// `None`: the API's default. `Some("NONE")`: nobody is asked for a token.
    pub(crate) authorizer: Option<String>,
    pub(crate) scopes: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct HttpApi {
    pub(crate) default_authorizer: Option<String>,
    pub(crate) authorizers: BTreeMap<String, Authorizer>,
    pub(crate) cors: Option<Cors>,
}

#[derive(Debug, Clone)]
pub(crate) struct Authorizer {
    /// `$request.header.Authorization`.
    pub(crate) identity_source: String,
    pub(crate) issuer: String,
    pub(crate) audience: Vec<String>,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Cors {
    pub(crate) origins: Vec<String>,
    pub(crate) methods: Vec<String>,
    pub(crate) headers: Vec<String>,
    pub(crate) exposed_headers: Vec<String>,
    pub(crate) credentials: bool,
    pub(crate) max_age_seconds: Option<u64>,
}

/// The stream that a function reads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    Table { name: String },
    Stream { name: String },
}

#[derive(Debug, Clone)]
pub(crate) struct EventSource {
    pub(crate) source: Source,
    pub(crate) arn: String,
    pub(crate) batch_size: usize,
    pub(crate) batching_window: Duration,
    /// Batches of one shard in flight at a time; the order per partition key stays.
    pub(crate) parallelization: usize,
    pub(crate) from_latest: bool,
    pub(crate) policy: Policy,
    pub(crate) filter: Filter,
    /// Bucket of the batches that were given up.
    pub(crate) failure_bucket: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    pub(crate) name: String,
    /// `rate(5 minutes)`.
    pub(crate) expression: String,
    /// What the function gets instead of the scheduled event.
    pub(crate) input: Option<String>,
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
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Stack, StartError> {
        self.parameters(given, environment)
            .and_then(|parameters| self.stack(parameters))
            .map_err(|error| StartError::Template {
                file: self.file.clone(),
                place: error.place,
                message: error.message,
            })
    }

    fn parameters(
        &self,
        given: &BTreeMap<&str, String>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<BTreeMap<String, Value>, Unresolved> {
        let mut parameters = BTreeMap::new();
        for (name, declaration) in self.document["Parameters"]
            .as_object()
            .into_iter()
            .flatten()
        {
            let place = format!("Parameters.{name}");
            let variable = screaming_snake_case(name);
            let set = given
                .get(name.as_str())
                .cloned()
                .or_else(|| environment(&variable));
            let value = match (set, declaration.get("Default")) {
                (Some(set), _) => Value::String(set),
                (None, Some(default)) => default.clone(),
                (None, None) => {
                    return Err(mistake(
                        &place,
                        format!("has no default; set {variable} in the environment"),
                    ));
                }
            };
            if let Some(allowed) = declaration["AllowedValues"].as_array()
                && !allowed.iter().any(|one| plain(one) == plain(&value))
            {
                return Err(mistake(
                    &place,
                    format!(
                        "{variable}={} is not one of its AllowedValues",
                        plain(&value)
                    ),
                ));
            }
            let value = match declaration["Type"].as_str() {
                Some("Number") if plain(&value).parse::<f64>().is_err() => {
                    return Err(mistake(
                        &place,
                        format!("{variable}={} is not a number", plain(&value)),
                    ));
                }
                Some("CommaDelimitedList") => {
                    Value::from(plain(&value).split(',').map(str::trim).collect::<Vec<_>>())
                }
                _ => value,
            };
            parameters.insert(name.clone(), value);
        }
        Ok(parameters)
    }

    fn stack(&self, parameters: BTreeMap<String, Value>) -> Result<Stack, Unresolved> {
        let resolver = Resolver::new(&self.document, parameters);
        let mut stack = Stack {
            tables: vec![],
            streams: vec![],
            functions: vec![],
            apis: BTreeMap::new(),
        };
        let api_globals =
            resolver.resolve(&self.document["Globals"]["HttpApi"], "Globals.HttpApi")?;
        for (logical_id, resource) in self.document["Resources"].as_object().into_iter().flatten() {
            if !resolver.exists(logical_id)? {
                continue;
            }
            let place = format!("Resources.{logical_id}.Properties");
            let name = || {
                let reference = json!({ "Ref": logical_id });
                resolver
                    .resolve(&reference, &place)
                    .map(|name| plain(&name))
            };
            let properties = || {
                let value = resource
                    .get("Properties")
                    .cloned()
                    .unwrap_or_else(|| json!({}));
                resolver.resolve(&value, &place)
            };
            match resource["Type"].as_str() {
                Some("AWS::DynamoDB::Table") => {
                    stack.tables.push(table(name()?, &properties()?, &place)?);
                }
                Some("AWS::Kinesis::Stream") => {
                    let properties = properties()?;
                    // A stream on demand has no shard count of its own; two are enough to see that order is per shard.
                    let shard_count = Properties::new(&properties, &place)
                        .number("ShardCount")?
                        .unwrap_or(2);
                    stack.streams.push(Stream {
                        name: name()?,
                        shard_count,
                    });
                }
                Some("AWS::Serverless::Function") => {
                    let globals = &self.document["Globals"]["Function"];
                    let merged = merge(globals, resource.get("Properties").unwrap_or(&Value::Null));
                    // Policies and networks name things that do not exist here; only what runs is resolved.
                    let kept = keep(
                        &merged,
                        &[
                            "Environment",
                            "Timeout",
                            "MemorySize",
                            "ReservedConcurrentExecutions",
                            "LoggingConfig",
                            "Events",
                        ],
                    );
                    let properties = resolver.resolve(&kept, &place)?;
                    stack.functions.push(function(
                        logical_id,
                        name()?,
                        resource,
                        &properties,
                        &place,
                    )?);
                }
                Some("AWS::Serverless::HttpApi") => {
                    let properties = merge(&api_globals, &properties()?);
                    stack
                        .apis
                        .insert(logical_id.clone(), http_api(&properties, &place)?);
                }
                _ => {}
            }
        }
        // Routes that name no API belong to the one that SAM makes up.
        if stack
            .functions
            .iter()
            .flat_map(|function| &function.routes)
            .any(|route| route.api == IMPLICIT_API)
        {
            stack.apis.insert(
                IMPLICIT_API.to_owned(),
                http_api(&api_globals, "Globals.HttpApi")?,
            );
        }
        check_references(&stack)?;
        Ok(stack)
    }
}

const IMPLICIT_API: &str = "ServerlessHttpApi";

/// A missing table or authorizer would otherwise show as an event that never comes.
fn check_references(stack: &Stack) -> Result<(), Unresolved> {
    for function in &stack.functions {
        let place = format!("Resources.{}.Properties.Events", function.logical_id);
        for event_source in &function.event_sources {
            let known = match &event_source.source {
                Source::Table { name } => stack.tables.iter().any(|table| table.name == *name),
                Source::Stream { name } => stack.streams.iter().any(|stream| stream.name == *name),
            };
            if !known {
                return Err(mistake(
                    &place,
                    format!("{} is no stream of this template", event_source.arn),
                ));
            }
        }
        for route in &function.routes {
            let Some(api) = stack.apis.get(&route.api) else {
                return Err(mistake(
                    &place,
                    format!("{} is no HTTP API of this template", route.api),
                ));
            };
            let authorizer = route
                .authorizer
                .as_ref()
                .or(api.default_authorizer.as_ref());
            if let Some(name) =
                authorizer.filter(|name| *name != "NONE" && !api.authorizers.contains_key(*name))
            {
                return Err(mistake(
                    &place,
                    format!("{name} is no JWT authorizer of {}", route.api),
                ));
            }
        }
    }
    Ok(())
}

fn table(name: String, properties: &Value, place: &str) -> Result<Table, Unresolved> {
    let partition_key = properties["KeySchema"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|element| element["KeyType"] == "HASH")
        .and_then(|element| element["AttributeName"].as_str())
        .ok_or_else(|| mistake(&format!("{place}.KeySchema"), "has no HASH key".to_owned()))?
        .to_owned();
    let time_to_live = &properties["TimeToLiveSpecification"];
    let time_to_live = match (
        &time_to_live["Enabled"],
        time_to_live["AttributeName"].as_str(),
    ) {
        (Value::Bool(true), Some(attribute)) => Some(attribute.to_owned()),
        _ => None,
    };
    // CloudFormation's table is the CreateTable request plus settings that mean nothing in memory.
    let mut definition = keep(
        properties,
        &[
            "AttributeDefinitions",
            "KeySchema",
            "GlobalSecondaryIndexes",
            "LocalSecondaryIndexes",
            "BillingMode",
            "ProvisionedThroughput",
            "StreamSpecification",
        ],
    );
    definition["TableName"] = json!(name);
    if definition["StreamSpecification"].is_object() {
        definition["StreamSpecification"]["StreamEnabled"] = json!(true);
    }
    Ok(Table {
        name,
        definition,
        time_to_live,
        partition_key,
    })
}

fn function(
    logical_id: &str,
    name: String,
    resource: &Value,
    properties: &Value,
    place: &str,
) -> Result<Function, Unresolved> {
    let settings = Properties::new(properties, place);
    let hint = ["BuildProperties", "Properties"]
        .iter()
        .find_map(|key| resource["Metadata"][key]["Binary"].as_str());
    let named = resource["Properties"]
        .get("FunctionName")
        .map(|_| name.trim_start_matches(&format!("{STACK}-")));
    let binary = match (hint, named) {
        (Some(hint), _) => hint.to_owned(),
        (None, Some(named)) => named.to_owned(),
        (None, None) => kebab_case(logical_id.strip_suffix("Function").unwrap_or(logical_id)),
    };
    let environment = properties["Environment"]["Variables"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(variable, value)| (variable.clone(), plain(value)))
        .collect();
    let mut function = Function {
        logical_id: logical_id.to_owned(),
        name,
        binary,
        environment,
        timeout: Duration::from_secs(settings.number("Timeout")?.unwrap_or(3)),
        memory_mb: settings.number("MemorySize")?.unwrap_or(128),
        reserved_concurrency: settings.number("ReservedConcurrentExecutions")?,
        log_level: properties["LoggingConfig"]["ApplicationLogLevel"]
            .as_str()
            .map(ToOwned::to_owned),
        routes: vec![],
        event_sources: vec![],
        schedules: vec![],
    };
    for (event, declaration) in properties["Events"].as_object().into_iter().flatten() {
        let place = format!("{place}.Events.{event}.Properties");
        let empty = json!({});
        let event_properties =
            Properties::new(declaration.get("Properties").unwrap_or(&empty), &place);
        match declaration["Type"].as_str() {
            Some("HttpApi") => {
                // `ApiId: !Ref Api` has become a name that says nothing; the logical id is in the original.
                let api =
                    resource["Properties"]["Events"][event]["Properties"]["ApiId"]["Ref"].as_str();
                function
                    .routes
                    .push(route(api.unwrap_or(IMPLICIT_API), &event_properties)?);
            }
            Some("DynamoDB" | "Kinesis") => function
                .event_sources
                .push(event_source(&event_properties)?),
            Some("Schedule" | "ScheduleV2") => {
                let expression = ["Schedule", "ScheduleExpression"]
                    .iter()
                    .find_map(|key| event_properties.text(key));
                let expression =
                    expression.ok_or_else(|| mistake(&place, "has no Schedule".to_owned()))?;
                let enabled = event_properties.flag("Enabled").unwrap_or(true)
                    && event_properties
                        .text("State")
                        .is_none_or(|state| state != "DISABLED");
                if enabled {
                    let name = format!("{logical_id}{event}");
                    function.schedules.push(Schedule {
                        name,
                        expression,
                        input: event_properties.text("Input"),
                    });
                }
            }
            Some(other) => {
                return Err(mistake(
                    &place,
                    format!("events of type {other} are not known here"),
                ));
            }
            None => return Err(mistake(&place, "has no Type".to_owned())),
        }
    }
    Ok(function)
}

fn route(api: &str, properties: &Properties<'_>) -> Result<Route, Unresolved> {
    let auth = &properties.value["Auth"];
    Ok(Route {
        api: api.to_owned(),
        method: properties.text("Method").map_or_else(
            || "ANY".to_owned(),
            |method| method.to_uppercase().replace('*', "ANY"),
        ),
        path: properties
            .text("Path")
            .unwrap_or_else(|| "$default".to_owned()),
        authorizer: auth["Authorizer"].as_str().map(str::to_owned),
        scopes: texts(&auth["AuthorizationScopes"]),
    })
}

fn http_api(properties: &Value, place: &str) -> Result<HttpApi, Unresolved> {
    let auth = &properties["Auth"];
    let mut api = HttpApi {
        default_authorizer: auth["DefaultAuthorizer"].as_str().map(str::to_owned),
        ..HttpApi::default()
    };
    for (name, authorizer) in auth["Authorizers"].as_object().into_iter().flatten() {
        let jwt = &authorizer["JwtConfiguration"];
        let Some(issuer) = jwt["issuer"].as_str() else {
            return Err(mistake(
                &format!("{place}.Auth.Authorizers.{name}.JwtConfiguration"),
                "has no issuer".to_owned(),
            ));
        };
        api.authorizers.insert(
            name.clone(),
            Authorizer {
                identity_source: authorizer["IdentitySource"]
                    .as_str()
                    .unwrap_or("$request.header.Authorization")
                    .to_owned(),
                issuer: issuer.to_owned(),
                audience: texts(&jwt["audience"]),
            },
        );
    }
    api.cors = match &properties["CorsConfiguration"] {
        Value::Bool(true) => Some(Cors {
            origins: vec!["*".to_owned()],
            methods: vec!["*".to_owned()],
            headers: vec!["*".to_owned()],
            ..Cors::default()
        }),
        cors @ Value::Object(_) => Some(Cors {
            origins: texts(&cors["AllowOrigins"]),
            methods: texts(&cors["AllowMethods"]),
            headers: texts(&cors["AllowHeaders"]),
            exposed_headers: texts(&cors["ExposeHeaders"]),
            credentials: cors["AllowCredentials"] == Value::Bool(true),
            max_age_seconds: cors["MaxAge"].as_u64(),
        }),
        _ => None,
    };
    Ok(api)
}

fn event_source(properties: &Properties<'_>) -> Result<EventSource, Unresolved> {
    let arn = properties
        .text("Stream")
        .ok_or_else(|| mistake(&properties.place, "has no Stream".to_owned()))?;
    let source = match (arn.split_once(":table/"), arn.split_once(":stream/")) {
        (Some((_, rest)), _) => Source::Table {
            name: rest.split('/').next().unwrap_or_default().to_owned(),
        },
        (None, Some((_, name))) => Source::Stream {
            name: name.to_owned(),
        },
        (None, None) => {
            return Err(mistake(
                &properties.place,
                format!("{arn} is not the ARN of a stream"),
            ));
        }
    };
    let from_latest = match properties.text("StartingPosition").as_deref() {
        Some("LATEST") => true,
        Some("TRIM_HORIZON") => false,
        _ => {
            return Err(mistake(
                &properties.place,
                "StartingPosition must be TRIM_HORIZON or LATEST".to_owned(),
            ));
        }
    };
    let patterns: Vec<String> = properties.value["FilterCriteria"]["Filters"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|filter| plain(&filter["Pattern"]))
        .collect();
    let filter = Filter::parse(&patterns)
        .map_err(|message| mistake(&format!("{}.FilterCriteria", properties.place), message))?;
    let destination = properties.value["DestinationConfig"]["OnFailure"]["Destination"].as_str();
    let failure_bucket = match destination {
        Some(arn) => match arn.strip_prefix("arn:aws:s3:::") {
            Some(bucket) => Some(bucket.to_owned()),
            None => {
                return Err(mistake(
                    &properties.place,
                    format!("{arn} is not the ARN of an S3 bucket"),
                ));
            }
        },
        None => None,
    };
    Ok(EventSource {
        source,
        arn,
        batch_size: properties
            .size("BatchSize")?
            .unwrap_or(100)
            .clamp(1, 10_000),
        batching_window: Duration::from_secs(
            properties
                .number("MaximumBatchingWindowInSeconds")?
                .unwrap_or(0),
        ),
        parallelization: properties
            .size("ParallelizationFactor")?
            .unwrap_or(1)
            .clamp(1, 10),
        from_latest,
        policy: Policy {
            // -1, as no value, means until the record is too old.
            max_retries: properties.limit("MaximumRetryAttempts")?,
            max_age: properties
                .limit("MaximumRecordAgeInSeconds")?
                .map(Duration::from_secs),
            bisect: properties
                .flag("BisectBatchOnFunctionError")
                .unwrap_or(false),
            reports_failures: texts(&properties.value["FunctionResponseTypes"])
                .iter()
                .any(|kind| kind == "ReportBatchItemFailures"),
        },
        filter,
        failure_bucket,
    })
}

/// The properties of a resource, and where they stand.
struct Properties<'a> {
    value: &'a Value,
    place: String,
}

impl<'a> Properties<'a> {
    fn new(value: &'a Value, place: &str) -> Self {
        Self {
            value,
            place: place.to_owned(),
        }
    }

    fn text(&self, key: &str) -> Option<String> {
        self.value
            .get(key)
            .filter(|value| !value.is_null())
            .map(plain)
    }

    /// A parameter gives its number as text, so both are numbers.
    fn number(&self, key: &str) -> Result<Option<u64>, Unresolved> {
        self.text(key)
            .map(|text| text.parse())
            .transpose()
            .map_err(|_| {
                mistake(
                    &format!("{}.{key}", self.place),
                    "is not a whole number".to_owned(),
                )
            })
    }

    fn size(&self, key: &str) -> Result<Option<usize>, Unresolved> {
        Ok(self
            .number(key)?
            .and_then(|number| usize::try_from(number).ok()))
    }

    /// A number of which -1 means no limit.
    fn limit(&self, key: &str) -> Result<Option<u64>, Unresolved> {
        if self.text(key).as_deref() == Some("-1") {
            Ok(None)
        } else {
            self.number(key)
        }
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.text(key).map(|text| text == "true")
    }
}

fn mistake(place: &str, message: String) -> Unresolved {
    Unresolved {
        place: place.to_owned(),
        message,
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Null => vec![],
        one => vec![plain(one)],
    }
}

/// What all functions share, overlaid with what one of them says: maps are merged, everything else is replaced.
fn merge(shared: &Value, own: &Value) -> Value {
    match (shared, own) {
        (Value::Object(shared), Value::Object(own)) if !is_call(shared) && !is_call(own) => {
            let mut merged = shared.clone();
            for (key, value) in own {
                let value = merge(shared.get(key).unwrap_or(&Value::Null), value);
                merged.insert(key.clone(), value);
            }
            Value::Object(merged)
        }
        (shared, Value::Null) => shared.clone(),
        (_, own) => own.clone(),
    }
}

fn is_call(object: &Map<String, Value>) -> bool {
    object.len() == 1
        && object
            .keys()
            .all(|key| key == "Ref" || key.starts_with("Fn::"))
}

fn keep(value: &Value, keys: &[&str]) -> Value {
    let kept = keys
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), value.get(*key)?.clone())));
    Value::Object(kept.collect())
}

fn words(camel_case: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous_is_lower = false;
    for letter in camel_case.chars() {
        if words.is_empty() || (letter.is_uppercase() && previous_is_lower) {
            words.push(String::new());
        }
        previous_is_lower = !letter.is_uppercase();
        if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words
}

/// `HomeTimeline` is run by `home-timeline`.
fn kebab_case(camel_case: &str) -> String {
    words(camel_case).join("-").to_lowercase()
}

/// `CelebrityThreshold` is set by `CELEBRITY_THRESHOLD`.
fn screaming_snake_case(camel_case: &str) -> String {
    words(camel_case).join("_").to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = r#"
Parameters:
  CelebrityThreshold: { Type: Number, Default: 10000 }
  RedisUrl: { Type: String, Default: "" }
Globals:
  Function:
    Timeout: 10
    Environment: { Variables: { LEVEL: INFO } }
    LoggingConfig: { LogFormat: JSON, ApplicationLogLevel: DEBUG }
Conditions:
  OwnCache: !Equals [!Ref RedisUrl, ""]
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      Auth:
        DefaultAuthorizer: Jwt
        Authorizers: { Jwt: { JwtConfiguration: { issuer: "http://i", audience: [a] } } }
  Tweets:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{ AttributeName: id, AttributeType: N }]
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
      StreamSpecification: { StreamViewType: KEYS_ONLY }
  Cache: { Type: AWS::ElastiCache::ServerlessCache, Condition: OwnCache }
  Logs: { Type: AWS::Logs::LogGroup, Properties: { RetentionInDays: &thirty 30 } }
  OtherLogs: { Type: AWS::Logs::LogGroup, Properties: { RetentionInDays: *thirty } }
  Failed: { Type: AWS::S3::Bucket }
  PublishTweetsFunction:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 60
      Policies: [{ Statement: { Resource: !GetAtt Unknown.Arn } }]
      ReservedConcurrentExecutions: !If [OwnCache, 5, !Ref AWS::NoValue]
      LoggingConfig: { LogGroup: !Ref Logs }
      Environment: { Variables: { THRESHOLD: !Ref CelebrityThreshold, TABLE: !Ref Tweets } }
      Events:
        Call: { Type: HttpApi, Properties: { ApiId: !Ref Api, Method: get, Path: "/v1/t/{id}" } }
        Records:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Tweets.StreamArn
            StartingPosition: TRIM_HORIZON
            MaximumRetryAttempts: -1
            FunctionResponseTypes: [ReportBatchItemFailures]
            DestinationConfig: { OnFailure: { Destination: !GetAtt Failed.Arn } }
"#;

    fn stack(text: &str, environment: &[(&str, &str)]) -> Result<Stack, StartError> {
        let template = Template {
            file: "t.yaml".into(),
            document: yaml::parse(text).expect("readable"),
        };
        template.resolve(
            &BTreeMap::from([("RedisUrl", "redis://local".to_owned())]),
            |variable| {
                environment
                    .iter()
                    .find(|(name, _)| *name == variable)
                    .map(|(_, value)| (*value).to_owned())
            },
        )
    }

    #[test]
    fn a_function_has_the_globals_its_own_settings_and_parameters_from_the_environment() {
        let stack = stack(TEMPLATE, &[("CELEBRITY_THRESHOLD", "50")]).expect("a good template");
        let function = &stack.functions[0];
        assert_eq!(function.binary, "publish-tweets");
        assert_eq!(function.timeout, Duration::from_secs(60));
        assert_eq!(function.environment["LEVEL"], "INFO");
        assert_eq!(function.log_level.as_deref(), Some("DEBUG"));
        assert_eq!(function.reserved_concurrency, None, "it has no value here");
        assert_eq!(function.environment["THRESHOLD"], "50");
        assert_eq!(function.environment["TABLE"], "roost-Tweets");
        assert_eq!(
            (
                function.routes[0].method.as_str(),
                function.routes[0].api.as_str()
            ),
            ("GET", "Api")
        );
        let event_source = &function.event_sources[0];
        assert_eq!(
            event_source.source,
            Source::Table {
                name: "roost-Tweets".to_owned()
            }
        );
        assert_eq!(event_source.policy.max_retries, None);
        assert!(event_source.policy.reports_failures);
        assert_eq!(event_source.failure_bucket.as_deref(), Some("roost-failed"));
    }

    #[test]
    fn mistakes_name_the_file_and_the_place() {
        let error = stack(TEMPLATE, &[("CELEBRITY_THRESHOLD", "many")])
            .expect_err("not a number")
            .to_string();
        assert_eq!(
            error,
            "t.yaml: Parameters.CelebrityThreshold: CELEBRITY_THRESHOLD=many is not a number"
        );
        let error = stack(
            &TEMPLATE.replace("DefaultAuthorizer: Jwt", "DefaultAuthorizer: Cognito"),
            &[],
        );
        assert!(
            error
                .expect_err("no such authorizer")
                .to_string()
                .contains("Cognito is no JWT authorizer of Api")
        );
    }

    #[test]
    fn names_are_translated() {
        assert_eq!(kebab_case("GetUserByHandle"), "get-user-by-handle");
        assert_eq!(screaming_snake_case("TimelineTtlDays"), "TIMELINE_TTL_DAYS");
        assert_eq!(screaming_snake_case("RedisURL"), "REDIS_URL");
    }
}
