//! How nodes start and stop, and what Kafka checks then.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Disk, Kafka};

/// A process of Kafka.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The node's number.
    pub node: i32,
    /// uid of its pod.
    pub pod: String,
    /// Identity of its disk.
    pub disk: String,
    /// The host that it tells others.
    pub host: String,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it is a broker.
    pub broker: bool,
    /// Whether it is a controller.
    pub controller: bool,
    /// The newest level of the metadata that its version reads.
    pub newest_level: i16,
    /// What its file says.
    pub settings: BTreeMap<String, String>,
    /// Levels of its loggers that were changed.
    pub loggers: BTreeMap<String, String>,
    /// When it started.
    pub since: Timestamp,
}

/// What a node finds when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boot {
    /// A disk with its data.
    Data,
    /// A disk that is formatted now, with a quorum of this node alone (`--standalone`).
    Standalone,
    /// A disk that is formatted now, to join a quorum (`--no-initial-controllers`, or a broker).
    Joining,
}

impl Kafka {
    /// A node starts. An error is why it ends at once.
    pub fn boot(&mut self, process: Process, boot: Boot) -> Result<(), String> {
        if let Some(other) = self.process(process.node) {
            let what = format!("node {} runs twice, in {} and {}", process.node, other.pod, process.pod);
            self.violation(what);
        }
        if boot != Boot::Data {
            self.format(&process, boot);
        }
        let disk = self.disks.get(&process.disk).ok_or("No `meta.properties` found in /data/kafka")?;
        if disk.node != process.node {
            return Err(format!("Stored node id {} doesn't match {}", disk.node, process.node));
        }
        if process.newest_level < self.level {
            return Err(format!("No MetadataVersion with feature level {}", self.level));
        }
        if let Some(voter) =
            self.voters.get_mut(&process.node).filter(|voter| voter.directory == disk.directory)
        {
            voter.host.clone_from(&process.host);
        }
        self.running.insert(process.pod.clone(), process);
        let now = self.now;
        self.tick(now);
        Ok(())
    }

    fn format(&mut self, process: &Process, boot: Boot) {
        let node = process.node;
        if self.disks.contains_key(&process.disk) {
            self.violation(format!("the disk of node {node} is formatted a second time"));
            self.disks.remove(&process.disk);
        }
        if self.voters.contains_key(&node) {
            self.violation(format!("node {node} votes, and starts on an empty disk"));
        }
        for name in self.only_on(node) {
            self.violation(format!(
                "node {node} starts on an empty disk, and no other serves {}-{}",
                name.0, name.1
            ));
        }
        if boot == Boot::Joining {
            self.must_find_quorum(process);
        }
        let directory = self.new_id();
        let disk = Disk { node, directory, replicas: BTreeMap::new() };
        self.disks.insert(process.disk.clone(), disk);
        if boot == Boot::Standalone {
            if !self.begun.is_empty() {
                self.violation(format!("node {node} begins a second quorum"));
            }
            self.begun.push(process.disk.clone());
            self.level = process.newest_level;
            let voter = super::Voter { directory, host: process.host.clone() };
            self.voters = [(node, voter)].into();
            self.leader = None;
        }
    }

    /// A controller that has no data yet asks whom its file names. A single name, behind which it is itself, may lead it to itself
    /// for ever.
    fn must_find_quorum(&mut self, process: &Process) {
        let Some(servers) = process.settings.get("controller.quorum.bootstrap.servers") else { return };
        if process.controller && !servers.contains(',') {
            self.violation(format!("node {} looks for the quorum at {servers} alone", process.node));
        }
    }

    /// The process in this pod is gone: it was told to stop, and has given its leaderships away before.
    pub fn halt(&mut self, pod: &str) {
        let Some(process) = self.running.get(pod).cloned() else { return };
        let had_quorum = self.has_quorum();
        self.running.remove(pod);
        self.frozen.remove(&process.node);
        if had_quorum && !self.has_quorum() && self.voters.len() > 2 {
            self.violation(format!("stopping node {} leaves no majority of the controllers", process.node));
        }
        if process.broker {
            self.stopped(process.node);
        }
        let now = self.now;
        self.tick(now);
    }

    /// A broker is about to stop: what it leaves is enough, for every topic for which anything would be.
    fn stopped(&mut self, node: i32) {
        let mut short = vec![];
        for (name, topic) in &self.topics {
            let needed = self.min_isr(name);
            for partition in &topic.partitions {
                let left = partition.isr.iter().filter(|id| **id != node && self.serves(**id)).count();
                if partition.isr.contains(&node) && left < needed && partition.replicas.len() > needed {
                    short.push(format!(
                        "stopping node {node} leaves {left} in sync of {name}-{}",
                        partition.index
                    ));
                }
            }
        }
        self.violations.extend(short);
        let now = self.now;
        if let Some(broker) = self.brokers.get_mut(&node) {
            broker.stopped = Some(now);
        }
    }

    /// What was on a disk is gone.
    pub fn remove_disk(&mut self, disk: &str) {
        let Some(gone) = self.disks.get(disk) else { return };
        let lost: Vec<_> = gone.replicas.keys().cloned().collect();
        for name in lost {
            self.erase(disk, &name);
        }
        self.disks.remove(disk);
    }
}
