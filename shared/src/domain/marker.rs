//! How far somebody has read, the same on all their devices.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::TweetId;

/// If nothing was marked yet, `last_read` and `version` are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    pub last_read: TweetId,
    pub version: u64,
}

/// As clients read it.
impl Serialize for Marker {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let marked = self.version > 0;
        let mut object = serializer.serialize_struct("Marker", 1 + usize::from(marked))?;
        if marked {
            object.serialize_field("last_read_id", &self.last_read)?;
        }
        object.serialize_field("version", &self.version)?;
        object.end()
    }
}
