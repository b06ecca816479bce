//! Topics and where their partitions are; making and deleting one.

mod change;
mod pages;

use std::collections::BTreeMap;

use kafka_protocol::messages::BrokerId;
use uuid::Uuid;

use super::{Admin, Error};

/// What is known of some topics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topics {
    /// Those that exist, in order of their names.
    pub found: Vec<Topic>,
    /// Those of which nothing is known, and why: above all those that do not exist.
    pub missing: BTreeMap<String, Error>,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// What tells it from another one that had the same name.
    pub id: Uuid,
    /// Whether Kafka made it for itself.
    pub internal: bool,
    /// Its partitions, in order of their numbers.
    pub partitions: Vec<Partition>,
}

/// A partition, and which nodes have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number.
    pub index: i32,
    /// The node that leads it; nothing while none does.
    pub leader: Option<i32>,
    /// How often leadership or the in-sync set has changed.
    pub leader_epoch: i32,
    /// All nodes that are to have it, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those that are in sync.
    pub isr: Vec<i32>,
    /// Those that are not in sync and have everything that was acknowledged, so that they may lead (KIP-966). Nothing if the node
    /// that was asked does not tell.
    pub eligible: Option<Vec<i32>>,
    /// Those that would have been eligible before they were shut down uncleanly (KIP-966). Nothing as for `eligible`.
    pub last_eligible: Option<Vec<i32>>,
    /// Those whose broker is not there or whose log directory is broken.
    pub offline: Vec<i32>,
}

/// How the partitions of a new topic are placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// By Kafka.
    Count {
        /// How many partitions.
        partitions: i32,
        /// How many replicas of each.
        replication_factor: i16,
    },
    /// By us: the nodes of each partition, the preferred leader first.
    Assigned(Vec<Vec<i32>>),
}

/// A topic to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// Where its partitions go.
    pub layout: Layout,
    /// Its own settings.
    pub config: BTreeMap<String, String>,
}

fn nodes(ids: &[BrokerId]) -> Vec<i32> {
    ids.iter().map(|id| id.0).collect()
}

fn name(text: &str) -> kafka_protocol::messages::TopicName {
    kafka_protocol::messages::TopicName(text.to_owned().into())
}

impl Admin {
    /// All topics, or those with these names; read in pages. At brokers only.
    ///
    /// A page is of one moment, all of them together are not: a topic that is made or deleted in between may be missing.
    pub async fn topics(&self, names: Option<&[String]>) -> Result<Topics, Error> {
        self.topics_in_pages(names).await
    }
}
