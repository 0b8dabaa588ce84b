//! The lanes of a shard. Records with the same partition key take the same lane, and a lane has one batch in flight at a
//! time: that is the whole of the ordering guarantee.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

use super::record::Record;

/// Where the records of one shard go in.
pub(crate) struct Lanes(Vec<Entrance>);

struct Entrance {
    records: mpsc::UnboundedSender<Record>,
    /// Records that went in and are not done with.
    open: Arc<AtomicUsize>,
}

/// Where the records of one lane come out.
pub(crate) struct Exit {
    pub(crate) records: mpsc::UnboundedReceiver<Record>,
    open: Arc<AtomicUsize>,
}

impl Exit {
    /// So many records are done with.
    pub(crate) fn done(&self, records: usize) {
        self.open.fetch_sub(records, Ordering::Relaxed);
    }
}

impl Lanes {
    pub(crate) fn new(count: usize) -> (Self, Vec<Exit>) {
        let lane = |_| {
            let (sender, records) = mpsc::unbounded_channel();
            let open = Arc::<AtomicUsize>::default();
            let entrance = Entrance {
                records: sender,
                open: Arc::clone(&open),
            };
            (entrance, Exit { records, open })
        };
        let (entrances, exits) = (0..count).map(lane).unzip();
        (Self(entrances), exits)
    }

    pub(crate) fn send(&self, record: Record) {
        let lane = &self.0[lane_of(&record.partition, self.0.len())];
        lane.open.fetch_add(1, Ordering::Relaxed);
        // A lane ends only with the process.
        let _ = lane.records.send(record);
    }

    /// Whether none could begin with a new record now.
    pub(crate) fn all_busy(&self) -> bool {
        let mut lanes = self.0.iter();
        lanes.all(|lane| lane.open.load(Ordering::Relaxed) > 0)
    }
}

fn lane_of(partition: &str, lanes: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    partition.hash(&mut hasher);
    usize::try_from(hasher.finish() % lanes as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_key_stays_in_its_lane() {
        assert_eq!(lane_of("alice", 10), lane_of("alice", 10));
        let lanes: std::collections::BTreeSet<_> =
            (0..100).map(|key| lane_of(&key.to_string(), 10)).collect();
        assert_eq!(lanes.len(), 10);
    }
}
