//! What a cluster looks like at one moment: its brokers, and where every partition's replicas are.
//!
//! The file form is JSON ([`Snapshot::from_json`]); the form in memory is made for a million partitions: topics
//! are interned, brokers are indices of two bytes, replicas lie in one array.
//!
//! ```json
//! {
//!   "format": 1,
//!   "brokers": [
//!     {"id": 1, "rack": "a", "capacity": {"diskBytes": 1000000000, "networkIn": 125000000, "networkOut": 125000000}},
//!     {"id": 2, "rack": "b", "draining": true}
//!   ],
//!   "partitions": [
//!     {"topic": "orders", "partition": 0, "replicas": [2, 1], "leader": 2, "isr": [1, 2], "size": 4096,
//!      "in": 100.5, "out": 201}
//!   ]
//! }
//! ```

mod build;
mod json;
mod view;

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) use view::View;

/// The number by which Kafka knows a broker (`node.id`).
pub type BrokerId = i32;

/// The version of the file form that this code writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// Most replicas of one partition. Kafka has no limit; no cluster has come near this one.
pub const MAX_REPLICAS: usize = 32;

/// A topic's name, shared by everything that names the topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Topic(Arc<str>);

impl Topic {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Topic {
    fn from(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for Topic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Topic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Self(Arc::from(name)))
    }
}

/// A broker that is registered, or that a replica list names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Broker {
    /// Its `node.id`.
    pub id: BrokerId,
    /// Its `broker.rack`. Brokers without one count as one rack together, if any broker has a rack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Everything on it has to go elsewhere, and nothing may come.
    #[serde(default, skip_serializing_if = "is_false")]
    pub draining: bool,
    /// It keeps what it has and takes nothing new.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cordoned: bool,
    /// It does not answer: nothing can be copied from it or to it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dead: bool,
    /// What it can hold and carry, as far as it is known.
    #[serde(default, skip_serializing_if = "Capacity::is_unknown")]
    pub capacity: Capacity,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What a broker can hold and carry. A resource is weighed by capacity only if every broker in use gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Capacity {
    /// Bytes of all its log directories together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// Bytes per second that it can receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_in: Option<u64>,
    /// Bytes per second that it can send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_out: Option<u64>,
}

impl Capacity {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// One partition, as Kafka describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Partition {
    /// Its topic.
    pub topic: Topic,
    /// Its number in the topic.
    pub partition: i32,
    /// Where its replicas are, the preferred leader first; during a reassignment with those that are added and
    /// those that are removed.
    pub replicas: Vec<BrokerId>,
    /// Who leads it, if anybody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<BrokerId>,
    /// Replicas in sync; all, if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isr: Option<Vec<BrokerId>>,
    /// Replicas that a running reassignment adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adding: Vec<BrokerId>,
    /// Replicas that a running reassignment removes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removing: Vec<BrokerId>,
    /// Bytes of each replica, when all are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Bytes per replica, in the order of `replicas`; `null` where it is not known, which counts as the largest known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Option<u64>>>,
    /// Bytes per second that producers write.
    #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
    pub bytes_in: Option<f64>,
    /// Bytes per second that consumers read.
    #[serde(default, rename = "out", skip_serializing_if = "Option::is_none")]
    pub bytes_out: Option<f64>,
}

/// What is wrong with a snapshot, where, and what would mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}; {fix}")]
pub struct SnapshotError {
    /// Path of the field, or line and column.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

/// A cluster at one moment. Brokers are sorted by id, partitions by topic and number, whatever the order was.
#[derive(Clone, Debug)]
pub struct Snapshot {
    brokers: Vec<Broker>,
    topics: Vec<Topic>,
    rows: Vec<Row>,
    /// Of all partitions: first what they will have, then what a reassignment removes.
    replicas: Vec<u16>,
    /// Bytes there now, per replica.
    sizes: Vec<u64>,
    /// Whether any partition has a rate.
    rates: bool,
}

/// A partition in memory. Positions count in its part of [`Snapshot::replicas`].
#[derive(Clone, Copy, Debug)]
struct Row {
    topic: u32,
    number: i32,
    first: u32,
    replicas: u8,
    /// Those that it will have; the rest is being removed.
    targets: u8,
    /// Position, or [`NOBODY`].
    leader: u8,
    /// A bit per position.
    adding: u32,
    /// A bit per position.
    in_sync: u32,
    bytes_in: f64,
    bytes_out: f64,
}

const NOBODY: u8 = u8::MAX;

impl Snapshot {
    /// Checks and stores.
    pub fn new(
        brokers: Vec<Broker>,
        partitions: impl IntoIterator<Item = Partition>,
    ) -> Result<Self, SnapshotError> {
        let mut builder = build::Builder::default();
        for partition in partitions {
            builder.push(&partition)?;
        }
        builder.finish(brokers)
    }

    /// The brokers, by id.
    pub fn brokers(&self) -> &[Broker] {
        &self.brokers
    }

    /// How many partitions there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no partition.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Every partition, by topic and number, in its file form.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> + '_ {
        self.views().map(View::describe)
    }

    /// Whether rates are known.
    pub fn has_rates(&self) -> bool {
        self.rates
    }

    pub(super) fn topics(&self) -> &[Topic] {
        &self.topics
    }

    pub(super) fn view(&self, row: usize) -> View<'_> {
        View::new(self, &self.rows[row])
    }

    pub(super) fn views(&self) -> impl Iterator<Item = View<'_>> {
        self.rows.iter().map(|row| View::new(self, row))
    }

    /// The row of a partition, if it is there.
    pub(super) fn find(&self, topic: &Topic, number: i32) -> Option<usize> {
        let topic = u32::try_from(self.topics.binary_search(topic).ok()?).ok()?;
        self.rows.binary_search_by_key(&(topic, number), |row| (row.topic, row.number)).ok()
    }

    /// The index of a broker, if it is there.
    pub(super) fn index(&self, id: BrokerId) -> Option<u16> {
        let index = self.brokers.binary_search_by_key(&id, |broker| broker.id).ok()?;
        u16::try_from(index).ok()
    }

    pub(super) fn id(&self, index: u16) -> BrokerId {
        self.brokers[usize::from(index)].id
    }

    pub(super) fn ids(&self, indices: &[u16]) -> Box<[BrokerId]> {
        indices.iter().map(|index| self.id(*index)).collect()
    }
}
