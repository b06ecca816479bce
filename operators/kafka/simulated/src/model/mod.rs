//! One cluster as far as an operator can see it, and what must never happen to it. No clock, no network.
//!
//! | module | what |
//! |---|---|
//! | [`start`] | processes that start and stop, and what a disk must hold for that |
//! | [`quorum`] | who votes, who follows, who leads |
//! | [`brokers`] | registrations, and forgetting a broker |
//! | [`topics`] | topics and partitions: made, found, filled, deleted |
//! | [`replication`] | who is in sync and who leads |
//! | [`moves`] | reassignments (KIP-455), copied as fast as throttles let them |
//! | [`configs`] | settings that are kept in the cluster |
//! | [`levels`] | levels of `metadata.version` |
//! | [`error`] | how Kafka says no |
//!
//! Elections take no time, and a disk has the whole of the metadata log as soon as its node follows.

pub mod brokers;
pub mod configs;
pub mod error;
pub mod levels;
pub mod moves;
pub mod quorum;
pub mod replication;
pub mod start;
pub mod topics;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

pub use self::{
    brokers::Registration,
    configs::{Change, Entry, Resource, Source},
    error::{Code, Refusal},
    quorum::{Observer, Voter},
    start::{Boot, Process},
    topics::{Partition, Topic},
};

/// Topic and number of a partition.
pub type Name = (String, i32);

/// How long things take that happen by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// From the start of a broker until the quorum lets it into service.
    pub start: SignedDuration,
    /// From the start of a controller until it has the metadata log.
    pub follow: SignedDuration,
    /// From then on until a replica that is complete counts as in sync.
    pub catch_up: SignedDuration,
    /// From the stop of a broker until it is fenced.
    pub notice: SignedDuration,
    /// What a copy without a throttle gets on by, in bytes per second.
    pub bandwidth: u64,
}

impl Default for Timing {
    /// A tenth of what a small real cluster takes.
    fn default() -> Self {
        Self {
            start: SignedDuration::from_millis(300),
            follow: SignedDuration::from_millis(200),
            catch_up: SignedDuration::from_millis(200),
            notice: SignedDuration::from_millis(200),
            bandwidth: 1 << 30,
        }
    }
}

/// What is on a disk that was formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The node whose number is on it.
    pub node: i32,
    /// The id of its directory, which tells its copy of the metadata log from others.
    pub directory: Uuid,
    /// Bytes of each replica on it.
    pub replicas: BTreeMap<Name, u64>,
}

/// One cluster.
#[derive(Clone, Debug)]
pub struct Kafka {
    /// Its id.
    pub id: String,
    /// The time of the last [`Kafka::tick`].
    pub now: Timestamp,
    /// How long things take.
    pub timing: Timing,
    /// Processes by uid of their pod.
    pub running: BTreeMap<String, Process>,
    /// Disks that were formatted, by their identity.
    pub disks: BTreeMap<String, Disk>,
    /// Those who vote, by node.
    pub voters: BTreeMap<i32, Voter>,
    /// The active controller; `None` while there is no majority.
    pub leader: Option<i32>,
    /// Counts the elections.
    pub epoch: i32,
    /// Where the metadata log ends.
    pub log: i64,
    /// The finalized level of `metadata.version`.
    pub level: i16,
    /// Brokers that are known.
    pub brokers: BTreeMap<i32, Registration>,
    /// Topics by name.
    pub topics: BTreeMap<String, Topic>,
    /// Settings that are kept in the cluster.
    pub configs: BTreeMap<Resource, BTreeMap<String, String>>,
    /// Nodes that run and do nothing any more, until they are stopped.
    pub frozen: BTreeSet<i32>,
    /// Bytes that moves have copied.
    pub copied: u64,
    /// Bytes of these that were thrown away with a move that was changed or cancelled.
    pub wasted: u64,
    /// What must never happen and did.
    pub violations: Vec<String>,
    /// When a copy of the metadata log that does not vote was last seen to follow.
    followed: BTreeMap<(i32, Uuid), Timestamp>,
    /// Disks on which a quorum was begun.
    begun: Vec<String>,
    /// Up to when copies have got on.
    copied_at: Timestamp,
    /// Counts what gets an id of its own.
    made: u128,
}

impl Kafka {
    /// A cluster of which nothing is there yet.
    pub fn new(id: &str, timing: Timing, now: Timestamp) -> Self {
        Self {
            id: id.to_owned(),
            now,
            timing,
            running: BTreeMap::new(),
            disks: BTreeMap::new(),
            voters: BTreeMap::new(),
            leader: None,
            epoch: 0,
            log: 0,
            level: 0,
            brokers: BTreeMap::new(),
            topics: BTreeMap::new(),
            configs: BTreeMap::new(),
            frozen: BTreeSet::new(),
            copied: 0,
            wasted: 0,
            violations: vec![],
            followed: BTreeMap::new(),
            begun: vec![],
            copied_at: now,
            made: 0,
        }
    }

    /// Time passes: elections, registrations, copies, leaders; what happens without anybody asking.
    pub fn tick(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        self.elect();
        self.follow();
        self.register();
        self.copy();
        self.settle();
    }

    /// An id that nothing else has.
    fn new_id(&mut self) -> Uuid {
        self.made += 1;
        // As Kafka's ids, it must not be one of those that mean something (0, 1, 2 …).
        Uuid::from_u128((0xba11_u128 << 112) + self.made)
    }

    /// The process of a node.
    pub fn process(&self, node: i32) -> Option<&Process> {
        self.running.values().find(|process| process.node == node)
    }

    /// The disk that a node has, or had when it was last seen.
    fn disk_of(&self, node: i32) -> Option<&str> {
        let running = self.process(node).map(|process| process.disk.as_str());
        running.or_else(|| self.brokers.get(&node).map(|broker| broker.disk.as_str()))
    }

    /// Something was written to the metadata log.
    fn logged(&mut self) {
        self.log += 1;
    }

    fn violation(&mut self, what: String) {
        self.violations.push(what);
    }
}

#[cfg(test)]
mod tests;
