//! A DynamoDB table, and the bucket of failed batches, which has less to say.

use serde_json::{Value, json};

use super::intrinsics::Unresolved;
use super::properties::{Known, Properties, mistake};
use super::resource::Resource;

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// The CreateTable request.
    pub(crate) definition: Value,
    /// The attribute that says when an item expires.
    pub(crate) time_to_live: Option<String>,
    pub(crate) partition_key: String,
}

const TABLE: Known = Known {
    of: "a table",
    file: file!(),
    read: &[
        "AttributeDefinitions",
        "BillingMode",
        "GlobalSecondaryIndexes",
        "KeySchema",
        "LocalSecondaryIndexes",
        "ProvisionedThroughput",
        "StreamSpecification",
        "TableName",
        "TimeToLiveSpecification",
    ],
    no_effect: &[
        // Tables are in memory and end with the process.
        "DeletionProtectionEnabled",
        "PointInTimeRecoverySpecification",
        "SSESpecification",
        "TableClass",
        // Nobody pays for throughput, watches it or is refused for lack of it.
        "ContributorInsightsSpecification",
        "OnDemandThroughput",
        "WarmThroughput",
        // Nobody checks permissions or asks for tags.
        "ResourcePolicy",
        "Tags",
    ],
};

const INDEX: Known = Known {
    of: "an index",
    file: file!(),
    read: &[
        "IndexName",
        "KeySchema",
        "Projection",
        "ProvisionedThroughput",
    ],
    no_effect: &[
        "ContributorInsightsSpecification",
        "OnDemandThroughput",
        "WarmThroughput",
    ],
};

const STREAM: Known = Known {
    of: "a table's stream",
    file: file!(),
    read: &["StreamViewType"],
    no_effect: &["ResourcePolicy"],
};

const TIME_TO_LIVE: Known = Known {
    of: "a table's time to live",
    file: file!(),
    read: &["AttributeName", "Enabled"],
    no_effect: &[],
};

impl Table {
    pub(super) fn read(resource: &Resource<'_>) -> Result<Self, Unresolved> {
        let value = resource.properties(&TABLE)?;
        let properties = Properties::new(&value, &resource.place);
        let partition_key = value["KeySchema"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|element| element["KeyType"] == "HASH")
            .and_then(|element| element["AttributeName"].as_str())
            .ok_or_else(|| properties.mistake("KeySchema", "has no HASH key"))?
            .to_owned();
        for key in ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"] {
            let place = format!("{}.{key}", properties.place);
            for (position, index) in value[key].as_array().into_iter().flatten().enumerate() {
                INDEX.check(index, &format!("{place}[{position}]"))?;
            }
        }
        let time_to_live = properties.section("TimeToLiveSpecification", &TIME_TO_LIVE)?;
        let time_to_live = match time_to_live.flag("Enabled")? {
            Some(true) => time_to_live.text("AttributeName"),
            _ => None,
        };
        properties.section("StreamSpecification", &STREAM)?;
        // What is left of CloudFormation's table is the CreateTable request.
        let name = resource.name()?;
        let mut definition = value;
        definition["TableName"] = json!(name);
        if let Some(definition) = definition.as_object_mut() {
            definition.remove("TimeToLiveSpecification");
        }
        if definition["StreamSpecification"].is_object() {
            definition["StreamSpecification"]["StreamEnabled"] = json!(true);
        }
        Ok(Self {
            name,
            definition,
            time_to_live,
            partition_key,
        })
    }
}

const BUCKET: Known = Known {
    of: "a bucket",
    file: file!(),
    read: &["BucketName"],
    no_effect: &[
        // A bucket is a folder that its owner may look into and delete.
        "AccessControl",
        "BucketEncryption",
        "LifecycleConfiguration",
        "LoggingConfiguration",
        "MetricsConfigurations",
        "OwnershipControls",
        "PublicAccessBlockConfiguration",
        "Tags",
        "VersioningConfiguration",
    ],
};

/// Buckets are made when a batch is given up; at the start they are only checked.
pub(super) fn check_bucket(resource: &Resource<'_>) -> Result<(), Unresolved> {
    let name = resource.properties(&BUCKET).and_then(|_| resource.name())?;
    if name.is_empty() || name.contains('/') {
        return Err(mistake(&resource.place, "has a name that is no folder's"));
    }
    Ok(())
}
