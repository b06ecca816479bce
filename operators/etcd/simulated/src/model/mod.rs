//! Members with ids on disks, a quorum, and what happens without anybody asking. No clock, no network.
//!
//! Two simplifications make it small: a cluster has one log and one set of keys, of which a disk holds a part that is
//! counted only; and an election takes no time.

mod answers;
mod error;
mod membership;
mod settle;
mod start;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ballast_core::version::Minor;
use jiff::{SignedDuration, Timestamp};
use semver::Version;

pub use self::{
    answers::{Alarm, AlarmKind, Status, Value},
    error::Refusal,
    membership::Endpoint,
    start::{Boot, version_of},
};

/// For how long etcd wants members to be connected before it changes its list (`HealthInterval`).
pub const HEALTH_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// A member in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name; empty until it has started for the first time.
    pub name: String,
    /// Its peer URL.
    pub url: String,
    /// Its client URL; empty until it has started for the first time.
    pub client_url: String,
    /// Whether it has no vote.
    pub learner: bool,
}

impl Entry {
    /// A member that has been added and has not started yet.
    pub fn added(url: &str, learner: bool) -> Self {
        Self { name: String::new(), url: url.to_owned(), client_url: String::new(), learner }
    }
}

/// A member list, as one member knows it.
pub type List = BTreeMap<u64, Entry>;

/// One etcd cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its id.
    pub id: u64,
    /// The list, as the majority knows it.
    pub members: List,
    /// Members that are no longer in the list, and since when.
    pub removed: BTreeMap<u64, Timestamp>,
    /// Index of the last committed entry.
    pub log: u64,
    /// Index of the last write that a client was told is safe.
    pub acknowledged: u64,
    /// Who leads, if the voters have a quorum.
    pub leader: Option<u64>,
    /// Counts the elections.
    pub term: u64,
    /// The version on which the members have agreed.
    pub version: Minor,
    /// Members whose data is corrupt, by their alarm.
    pub corrupt: BTreeSet<u64>,
    /// What clients wrote.
    pub keys: Arc<BTreeMap<Vec<u8>, Value>>,
    /// Counts the writes of clients, from 1 as etcd does.
    pub revision: i64,
    seed_disk: String,
    /// Pods in which members of this cluster run.
    pods: BTreeSet<String>,
    /// Disks with data of this cluster.
    disks: BTreeSet<String>,
}

/// What is on a disk.
#[derive(Clone, Debug)]
pub struct Replica {
    /// The cluster that it belongs to.
    pub cluster: u64,
    /// The member that it belongs to.
    pub id: u64,
    /// Index of the last entry on it.
    pub applied: u64,
    /// The member list, as far as this member has been told.
    pub list: List,
}

/// A process of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// What the member is called in the whole world, for faults: its name, with its namespace where there is more than one.
    pub member: String,
    /// Its name in etcd's configuration.
    pub name: String,
    /// uid of its pod.
    pub pod: String,
    /// Address of its pod.
    pub address: String,
    /// Its client URL, as it tells it to the others.
    pub client_url: String,
    /// Identity of its disk.
    pub disk: String,
    /// Version of etcd.
    pub version: Version,
}

/// A running member.
#[derive(Clone, Debug)]
pub struct Running {
    /// Its process.
    pub process: Process,
    /// Its cluster.
    pub cluster: u64,
    /// Its id.
    pub id: u64,
    /// Since when it takes part; `None` while it does not.
    pub active_since: Option<Timestamp>,
}

/// Something that must never happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The cluster that it happened to.
    pub cluster: u64,
    /// What happened.
    pub what: String,
}

/// All etcd processes and disks of the world.
#[derive(Clone, Debug)]
pub struct Etcd {
    /// The time of the last [`Etcd::tick`].
    pub now: Timestamp,
    /// Clusters by id.
    pub clusters: BTreeMap<u64, Cluster>,
    /// Disks with data, by their identity.
    pub replicas: BTreeMap<String, Replica>,
    /// Running members by the uid of their pod.
    pub running: BTreeMap<String, Running>,
    /// Members whose log does not grow.
    pub slow: BTreeSet<String>,
    /// Members that run and answer nobody.
    pub hung: BTreeSet<String>,
    /// Members that answer clients and reach no other member.
    pub partitioned: BTreeSet<String>,
    /// Members that serve and whose readiness probe fails.
    pub unready: BTreeSet<String>,
    /// Whether etcd refuses dangerous changes of its list; off only to test the watchers.
    pub strict: bool,
    /// For how long members must be connected before the list may change; [`HEALTH_INTERVAL`].
    pub health_interval: SignedDuration,
    /// How long a learner takes to catch up, from its start.
    pub catch_up: SignedDuration,
    /// What must never happen and did.
    pub violations: Vec<Violation>,
    ended: Vec<String>,
    /// Clusters with a member that has been removed and still runs.
    leaving: BTreeSet<u64>,
    next_id: u64,
}

impl Cluster {
    /// Members with a vote.
    pub fn voters(&self) -> impl Iterator<Item = (u64, &Entry)> {
        self.members.iter().filter(|(_, entry)| !entry.learner).map(|(id, entry)| (*id, entry))
    }

    /// How many voters must agree.
    pub fn quorum(&self) -> usize {
        self.voters().count() / 2 + 1
    }
}

impl Etcd {
    /// A world without etcd.
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            clusters: BTreeMap::new(),
            replicas: BTreeMap::new(),
            running: BTreeMap::new(),
            slow: BTreeSet::new(),
            hung: BTreeSet::new(),
            partitioned: BTreeSet::new(),
            unready: BTreeSet::new(),
            strict: true,
            health_interval: HEALTH_INTERVAL,
            catch_up: SignedDuration::ZERO,
            violations: vec![],
            ended: vec![],
            leaving: BTreeSet::new(),
            next_id: 0x1000,
        }
    }

    /// An id that no member has.
    pub fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The process of a member, if it runs.
    pub fn process_of(&self, cluster: u64, id: u64) -> Option<&Running> {
        let cluster = self.clusters.get(&cluster)?;
        cluster.pods.iter().filter_map(|pod| self.running.get(pod)).find(|running| running.id == id)
    }

    fn takes_part(&self, process: &Process) -> bool {
        !self.hung.contains(&process.member) && !self.partitioned.contains(&process.member)
    }

    /// Whether the member with this id runs and reaches the others.
    pub fn alive(&self, cluster: u64, id: u64) -> bool {
        self.process_of(cluster, id).is_some_and(|running| self.takes_part(&running.process))
    }

    /// Voters that run and reach the others.
    pub fn alive_voters(&self, cluster: &Cluster) -> Vec<u64> {
        cluster.voters().map(|(id, _)| id).filter(|id| self.alive(cluster.id, *id)).collect()
    }

    /// Whether a majority of the voters takes part.
    pub fn has_quorum(&self, cluster: &Cluster) -> bool {
        !cluster.members.is_empty() && self.alive_voters(cluster).len() >= cluster.quorum()
    }

    /// How far the disk of a member is.
    pub fn applied(&self, cluster: u64, id: u64) -> u64 {
        let disks = self.clusters.get(&cluster).into_iter().flat_map(|cluster| &cluster.disks);
        let here = disks.filter_map(|disk| self.replicas.get(disk)).filter(|replica| replica.id == id);
        here.map(|replica| replica.applied).max().unwrap_or(0)
    }

    /// Whether this process serves a linearizable read.
    pub fn serves(&self, running: &Running) -> bool {
        let Some(cluster) = self.clusters.get(&running.cluster) else { return false };
        let voter = cluster.members.get(&running.id).is_some_and(|entry| !entry.learner);
        voter && self.alive(running.cluster, running.id) && self.has_quorum(cluster)
    }

    /// Something is to be written; the index of the entry, if a majority takes it.
    fn commit(&mut self, id: u64) -> Option<u64> {
        let cluster = self.clusters.get(&id).filter(|cluster| self.has_quorum(cluster))?;
        let taking: Vec<u64> = self
            .alive_voters(cluster)
            .into_iter()
            .filter(|id| {
                let process = self.process_of(cluster.id, *id).map(|running| &running.process);
                process.is_some_and(|process| !self.slow.contains(&process.member))
            })
            .collect();
        if taking.len() < cluster.quorum() {
            return None;
        }
        let index = cluster.log + 1;
        for disk in cluster.disks.clone() {
            if let Some(replica) = self.replicas.get_mut(&disk).filter(|replica| taking.contains(&replica.id))
            {
                replica.applied = index;
            }
        }
        self.clusters.get_mut(&id)?.log = index;
        Some(index)
    }

    /// A client writes; true when it is told that the write is safe.
    pub fn write(&mut self, id: u64) -> bool {
        let Some(index) = self.commit(id) else { return false };
        if let Some(cluster) = self.clusters.get_mut(&id) {
            cluster.acknowledged = index;
        }
        true
    }
}
