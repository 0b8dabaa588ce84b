//! A Kinesis stream.

use super::intrinsics::Unresolved;
use super::properties::{Known, Properties};
use super::resource::Resource;

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) name: String,
    pub(crate) shard_count: u64,
}

/// A stream on demand has no shard count of its own; two are enough to see that order is per shard.
const SHARDS_ON_DEMAND: u64 = 2;

const STREAM: Known = Known {
    of: "a stream",
    file: file!(),
    read: &["Name", "ShardCount"],
    no_effect: &[
        // On demand or provisioned: ShardCount says it as well.
        "StreamModeDetails",
        // Records are in memory and end with the process.
        "RetentionPeriodHours",
        "StreamEncryption",
        // Nobody looks at metrics or asks for tags.
        "DesiredShardLevelMetrics",
        "Tags",
    ],
};

impl Stream {
    pub(super) fn read(resource: &Resource<'_>) -> Result<Self, Unresolved> {
        let value = resource.properties(&STREAM)?;
        let shard_count = Properties::new(&value, &resource.place).number("ShardCount")?;
        Ok(Self {
            name: resource.name()?,
            shard_count: shard_count.unwrap_or(SHARDS_ON_DEMAND),
        })
    }
}
