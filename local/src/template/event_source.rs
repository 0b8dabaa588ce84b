//! An event source: the stream that a function reads, and how it treats batches of it.

use std::time::Duration;

use serde_json::Value;

use super::intrinsics::{Unresolved, plain};
use super::properties::{Known, Properties};
use super::resource::Resource;
use crate::event_source::delivery::Policy;
use crate::event_source::filter::Filter;

/// The stream that a function reads.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    Table {
        name: String,
    },
    /// A stream `pushes` its records to a consumer that was made for that; otherwise it is asked for them.
    Stream {
        name: String,
        pushes: bool,
    },
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

pub(super) const EVENT_SOURCE: Known = Known {
    of: "an event source",
    file: file!(),
    read: &[
        "BatchSize",
        "BisectBatchOnFunctionError",
        "DestinationConfig",
        "Enabled",
        "FilterCriteria",
        "FunctionResponseTypes",
        "MaximumBatchingWindowInSeconds",
        "MaximumRecordAgeInSeconds",
        "MaximumRetryAttempts",
        "ParallelizationFactor",
        "StartingPosition",
        "Stream",
    ],
    no_effect: &[
        // Nobody looks at metrics or asks for tags, and filters are not encrypted.
        "KmsKeyArn",
        "MetricsConfig",
        "Tags",
    ],
};

const DESTINATION: Known = Known {
    of: "an event source's destinations",
    file: file!(),
    read: &["OnFailure"],
    no_effect: &[],
};

const ON_FAILURE: Known = Known {
    of: "a failure destination",
    file: file!(),
    read: &["Destination"],
    // The ARN says it as well.
    no_effect: &["Type"],
};

const FILTERS: Known = Known {
    of: "an event source's filters",
    file: file!(),
    read: &["Filters"],
    no_effect: &[],
};

const FILTER: Known = Known {
    of: "a filter",
    file: file!(),
    read: &["Pattern"],
    no_effect: &[],
};

const REPORTS_FAILURES: &str = "ReportBatchItemFailures";

impl EventSource {
    /// One that stands by itself in the template, and the name of its function.
    pub(super) fn read_mapping(
        resource: &Resource<'_>,
    ) -> Result<(String, Option<Self>), Unresolved> {
        let mut own = resource.declaration["Properties"].clone();
        let function = resource.resolve(&own["FunctionName"].take())?;
        // As an event of a function has it, which has no name of a function.
        own["Stream"] = own["EventSourceArn"].take();
        if let Some(own) = own.as_object_mut() {
            own.retain(|_, value| !value.is_null());
        }
        let value = resource.resolve(&EVENT_SOURCE.take(&own, &resource.place)?)?;
        let properties = Properties::new(&value, &resource.place);
        let arn = properties.text("Stream").unwrap_or_default();
        let event_type = if arn.contains(":dynamodb:") {
            "DynamoDB"
        } else {
            "Kinesis"
        };
        Ok((plain(&function), Self::read(event_type, &properties)?))
    }

    /// `None` for an event source that is switched off. `event_type` is `DynamoDB` or `Kinesis`.
    pub(super) fn read(
        event_type: &str,
        properties: &Properties<'_>,
    ) -> Result<Option<Self>, Unresolved> {
        let arn = properties
            .text("Stream")
            .ok_or_else(|| properties.mistake("Stream", "is missing"))?;
        let source = source(event_type, &arn).ok_or_else(|| {
            let message = format!("{arn} is not the ARN of a stream of {event_type}");
            properties.mistake("Stream", message)
        })?;
        let from_latest = match properties.text("StartingPosition").as_deref() {
            Some("LATEST") => true,
            Some("TRIM_HORIZON") => false,
            _ => {
                let message = "must be TRIM_HORIZON or LATEST";
                return Err(properties.mistake("StartingPosition", message));
            }
        };
        let batching_window = properties.number("MaximumBatchingWindowInSeconds")?;
        let source = Self {
            source,
            arn,
            batch_size: properties
                .size("BatchSize")?
                .unwrap_or(100)
                .clamp(1, 10_000),
            batching_window: Duration::from_secs(batching_window.unwrap_or(0)),
            parallelization: properties
                .size("ParallelizationFactor")?
                .unwrap_or(1)
                .clamp(1, 10),
            from_latest,
            policy: policy(properties)?,
            filter: filter(properties)?,
            failure_bucket: failure_bucket(properties)?,
        };
        let enabled = properties.flag("Enabled")?.unwrap_or(true);
        Ok(enabled.then_some(source))
    }
}

fn source(event_type: &str, arn: &str) -> Option<Source> {
    match event_type {
        "DynamoDB" => {
            let (_, rest) = arn.split_once(":table/")?;
            let (name, _) = rest.split_once("/stream/")?;
            Some(Source::Table {
                name: name.to_owned(),
            })
        }
        _ => {
            let (_, name) = arn.split_once(":stream/")?;
            let consumer = name.split_once("/consumer/");
            Some(Source::Stream {
                name: consumer.map_or(name, |(name, _)| name).to_owned(),
                pushes: consumer.is_some(),
            })
        }
    }
}

fn policy(properties: &Properties<'_>) -> Result<Policy, Unresolved> {
    let response_types = properties.texts("FunctionResponseTypes");
    if let Some(other) = response_types.iter().find(|kind| *kind != REPORTS_FAILURES) {
        let message = format!("{other} is not known here, only {REPORTS_FAILURES} is");
        return Err(properties.mistake("FunctionResponseTypes", message));
    }
    let max_age = properties.limit("MaximumRecordAgeInSeconds")?;
    Ok(Policy {
        // -1, as no value, means until the record is too old.
        max_retries: properties.limit("MaximumRetryAttempts")?,
        max_age: max_age.map(Duration::from_secs),
        bisect: properties
            .flag("BisectBatchOnFunctionError")?
            .unwrap_or(false),
        reports_failures: !response_types.is_empty(),
    })
}

fn filter(properties: &Properties<'_>) -> Result<Filter, Unresolved> {
    let criteria = properties.section("FilterCriteria", &FILTERS)?;
    let mut patterns = Vec::new();
    let filters = criteria.value["Filters"].as_array();
    for (position, filter) in filters.into_iter().flatten().enumerate() {
        FILTER.check(filter, &format!("{}.Filters[{position}]", criteria.place))?;
        patterns.push(plain(&filter["Pattern"]));
    }
    Filter::parse(&patterns).map_err(|message| criteria.mistake("Filters", message))
}

fn failure_bucket(properties: &Properties<'_>) -> Result<Option<String>, Unresolved> {
    let on_failure = properties
        .section("DestinationConfig", &DESTINATION)?
        .section("OnFailure", &ON_FAILURE)?;
    let Value::String(arn) = &on_failure.value["Destination"] else {
        return Ok(None);
    };
    match arn.strip_prefix("arn:aws:s3:::") {
        Some(bucket) => Ok(Some(bucket.to_owned())),
        None => {
            let message = format!("{arn} is not the ARN of an S3 bucket");
            Err(on_failure.mistake("Destination", message))
        }
    }
}
