//! A model of etcd: members with ids on disks, a quorum, and the rules by which the member list changes.

use std::collections::{BTreeMap, BTreeSet};

use ballast_core::{
    guard::{Start, Ticket, TicketKind},
    hash,
    version::Minor,
};
use ballast_testkit::{Application, Process};
use jiff::Timestamp;
use semver::Version;

/// A member in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub url: String,
    pub learner: bool,
}

/// One etcd cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub id: u64,
    pub members: BTreeMap<u64, Entry>,
    pub removed: BTreeSet<u64>,
    /// Index of the last committed entry.
    pub log: u64,
    /// Index of the last write that a client was told is safe.
    pub acknowledged: u64,
    pub leader: Option<u64>,
    pub version: Minor,
    pub corrupt: BTreeSet<u64>,
    /// When the list changed last, or a member came or went.
    pub changed: Timestamp,
    seed_disk: String,
}

/// What is on a disk.
#[derive(Clone, Debug)]
pub struct Replica {
    pub cluster: u64,
    pub id: u64,
    pub applied: u64,
}

/// A running member.
#[derive(Clone, Debug)]
pub struct Running {
    pub process: Process,
    pub cluster: u64,
    pub id: u64,
    pub version: Version,
}

/// All etcd processes and disks of the world.
#[derive(Clone, Debug)]
pub struct Etcd {
    pub now: Timestamp,
    pub clusters: BTreeMap<u64, Cluster>,
    pub replicas: BTreeMap<String, Replica>,
    pub running: BTreeMap<String, Running>,
    /// Members whose log does not grow.
    pub slow: BTreeSet<String>,
    /// Members that run and answer nobody.
    pub hung: BTreeSet<String>,
    /// Members that serve and whose readiness probe fails.
    pub unready: BTreeSet<String>,
    /// Whether etcd refuses dangerous changes of its list; off only to test the watchers.
    pub strict: bool,
    /// What must never happen and did.
    pub violations: Vec<String>,
    ended: Vec<String>,
    next_id: u64,
}

impl Cluster {
    pub fn voters(&self) -> impl Iterator<Item = (u64, &Entry)> {
        self.members.iter().filter(|(_, entry)| !entry.learner).map(|(id, entry)| (*id, entry))
    }

    pub fn quorum(&self) -> usize {
        self.voters().count() / 2 + 1
    }
}

impl Etcd {
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            clusters: BTreeMap::new(),
            replicas: BTreeMap::new(),
            running: BTreeMap::new(),
            slow: BTreeSet::new(),
            hung: BTreeSet::new(),
            unready: BTreeSet::new(),
            strict: true,
            violations: vec![],
            ended: vec![],
            next_id: 0x1000,
        }
    }

    pub fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Whether the member with this id runs and takes part.
    pub fn alive(&self, cluster: u64, id: u64) -> bool {
        self.running.values().any(|running| {
            running.cluster == cluster && running.id == id && !self.hung.contains(&running.process.member)
        })
    }

    pub fn alive_voters(&self, cluster: &Cluster) -> Vec<u64> {
        cluster.voters().map(|(id, _)| id).filter(|id| self.alive(cluster.id, *id)).collect()
    }

    /// Whether a majority of the voters takes part.
    pub fn has_quorum(&self, cluster: &Cluster) -> bool {
        !cluster.members.is_empty() && self.alive_voters(cluster).len() >= cluster.quorum()
    }

    /// The replica of a member; what is on its disk.
    pub fn applied(&self, cluster: u64, id: u64) -> u64 {
        let here = self.replicas.values().filter(|replica| replica.cluster == cluster && replica.id == id);
        here.map(|replica| replica.applied).max().unwrap_or(0)
    }

    /// Whether this process serves a linearizable read.
    pub fn serves(&self, running: &Running) -> bool {
        let Some(cluster) = self.clusters.get(&running.cluster) else { return false };
        let voter = cluster.members.get(&running.id).is_some_and(|entry| !entry.learner);
        voter && self.alive(running.cluster, running.id) && self.has_quorum(cluster)
    }

    /// Elections, replication, names, versions: what happens without anybody asking.
    pub fn tick(&mut self, now: Timestamp) {
        self.now = now;
        for id in self.clusters.keys().copied().collect::<Vec<_>>() {
            let mut cluster = self.clusters[&id].clone();
            if self.has_quorum(&cluster) {
                self.elect(&mut cluster);
                self.replicate(&mut cluster);
            } else {
                cluster.leader = None;
            }
            self.clusters.insert(id, cluster);
        }
    }

    fn elect(&mut self, cluster: &mut Cluster) {
        let alive = self.alive_voters(cluster);
        if !cluster.leader.is_some_and(|leader| alive.contains(&leader)) {
            cluster.leader = alive.iter().copied().max_by_key(|id| self.applied(cluster.id, *id));
        }
        let best = alive.iter().map(|id| self.applied(cluster.id, *id)).max().unwrap_or(0);
        if best < cluster.acknowledged {
            let why =
                format!("acknowledged write {} is lost: the best voter has {best}", cluster.acknowledged);
            self.violations.push(why);
        }
    }

    fn replicate(&mut self, cluster: &mut Cluster) {
        for running in self.running.values().filter(|running| running.cluster == cluster.id) {
            if self.hung.contains(&running.process.member) {
                continue;
            }
            if cluster.removed.contains(&running.id) {
                self.ended.push(running.process.pod.clone());
                continue;
            }
            if let Some(entry) = cluster.members.get_mut(&running.id).filter(|entry| entry.name.is_empty()) {
                entry.name.clone_from(&running.process.member);
            }
            if !self.slow.contains(&running.process.member)
                && let Some(replica) = self.replicas.get_mut(&running.process.disk)
            {
                replica.applied = cluster.log;
            }
        }
        let versions: Vec<Minor> = self
            .running
            .values()
            .filter(|running| running.cluster == cluster.id && cluster.members.contains_key(&running.id))
            .map(|running| Minor::from(&running.version))
            .collect();
        let lowest = versions.iter().min().copied();
        if let Some(lowest) =
            lowest.filter(|lowest| versions.len() >= cluster.members.len() && *lowest > cluster.version)
        {
            cluster.version = lowest;
        }
        for pod in &self.ended {
            self.running.remove(pod);
        }
    }

    /// A client writes; true when it is told that the write is safe.
    pub fn write(&mut self, id: u64) -> bool {
        let Some(cluster) = self.clusters.get(&id).filter(|cluster| self.has_quorum(cluster)) else {
            return false;
        };
        let taking: Vec<u64> = self
            .alive_voters(cluster)
            .into_iter()
            .filter(|id| !self.slow.contains(&cluster.members[id].name))
            .collect();
        if taking.len() < cluster.quorum() {
            return false;
        }
        let index = cluster.log + 1;
        for replica in self.replicas.values_mut().filter(|replica| replica.cluster == id) {
            if taking.contains(&replica.id) {
                replica.applied = index;
            }
        }
        if let Some(cluster) = self.clusters.get_mut(&id) {
            cluster.log = index;
            cluster.acknowledged = index;
        }
        true
    }

    fn run(&mut self, process: &Process, cluster: u64, id: u64, version: Version) {
        let running = Running { process: process.clone(), cluster, id, version };
        self.running.insert(process.pod.clone(), running);
        if let Some(cluster) = self.clusters.get_mut(&cluster) {
            cluster.changed = self.now;
        }
    }

    fn again(&mut self, process: &Process, version: Version) -> Result<(), String> {
        let replica = self.replicas.get(&process.disk).cloned().ok_or("the disk has no replica")?;
        let cluster = &self.clusters[&replica.cluster];
        if cluster.removed.contains(&replica.id) {
            return Err("the member has been permanently removed from the cluster".to_owned());
        }
        if Minor::from(&version) < cluster.version {
            return Err(
                "invalid downgrade; server version is lower than determined cluster version".to_owned()
            );
        }
        self.run(process, replica.cluster, replica.id, version);
        Ok(())
    }

    fn bootstrap(&mut self, process: &Process, ticket: &Ticket, own: &str, version: Version) {
        let id = number(&ticket.cluster_uid);
        let member = number(&format!("{}{own}", ticket.cluster_uid));
        if let Some(before) = self.clusters.get(&id)
            && (before.acknowledged > 0 || before.members.len() > 1 || before.seed_disk != process.disk)
        {
            self.violations.push(format!("{} bootstraps a second cluster", process.member));
        }
        let entry = Entry { name: String::new(), url: own.to_owned(), learner: false };
        let cluster = Cluster {
            id,
            members: BTreeMap::from([(member, entry)]),
            removed: BTreeSet::new(),
            log: 1,
            acknowledged: 0,
            leader: None,
            version: Minor::from(&version),
            corrupt: BTreeSet::new(),
            changed: self.now,
            seed_disk: process.disk.clone(),
        };
        self.clusters.insert(id, cluster);
        self.replicas.insert(process.disk.clone(), Replica { cluster: id, id: member, applied: 1 });
        self.run(process, id, member, version);
    }

    fn join(
        &mut self,
        process: &Process,
        list: &BTreeMap<String, String>,
        own: &str,
        version: Version,
    ) -> Result<(), String> {
        let reachable = |cluster: &&Cluster| {
            let urls: BTreeSet<&String> = cluster.members.values().map(|entry| &entry.url).collect();
            let known = list.values().any(|url| urls.contains(url));
            known && self.running.values().any(|running| running.cluster == cluster.id)
        };
        let cluster =
            self.clusters.values().find(reachable).ok_or("cannot fetch cluster info from peer urls")?;
        let have: BTreeSet<&String> = cluster.members.values().map(|entry| &entry.url).collect();
        if have != list.values().collect() {
            return Err("error validating peerURLs: member count is unequal".to_owned());
        }
        let (id, entry) =
            cluster.members.iter().find(|(_, entry)| entry.url == own).ok_or("not in the list")?;
        let (id, cluster_id) = (*id, cluster.id);
        if !entry.name.is_empty() {
            self.violations.push(format!(
                "member {id:x} ({}) was started before, and starts on an empty disk",
                process.member
            ));
        }
        self.replicas.insert(process.disk.clone(), Replica { cluster: cluster_id, id, applied: 0 });
        self.run(process, cluster_id, id, version);
        Ok(())
    }
}

impl Application for Etcd {
    fn start(&mut self, process: &Process, how: &Start) -> Result<(), String> {
        let version = version_of(&process.image)?;
        let Start::Ticket(ticket) = how else { return self.again(process, version) };
        let (list, state) = initial_cluster(ticket)?;
        let own =
            list.get(&process.member).cloned().ok_or("couldn't find local name in the initial cluster")?;
        match (ticket.kind, state.as_str()) {
            (TicketKind::Bootstrap, "new") => {
                self.bootstrap(process, ticket, &own, version);
                Ok(())
            }
            (TicketKind::Join, "existing") => self.join(process, &list, &own, version),
            (kind, state) => Err(format!("a {kind} ticket with the state {state}")),
        }
    }

    fn stop(&mut self, pod: &str) {
        if let Some(running) = self.running.remove(pod)
            && let Some(cluster) = self.clusters.get_mut(&running.cluster)
        {
            cluster.changed = self.now;
        }
    }

    fn ready(&self, pod: &str) -> bool {
        let ready =
            |running: &Running| self.serves(running) && !self.unready.contains(&running.process.member);
        self.running.get(pod).is_some_and(ready)
    }

    fn ended(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ended)
    }
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(&hash::text_hash(text), 16).unwrap_or(1)
}

fn version_of(image: &str) -> Result<Version, String> {
    let tag = image.rsplit(":v").next().unwrap_or_default();
    Version::parse(tag).map_err(|error| format!("{image}: {error}"))
}

fn initial_cluster(ticket: &Ticket) -> Result<(BTreeMap<String, String>, String), String> {
    let text = ticket.append.get("etcd.yaml").ok_or("the ticket appends nothing to etcd.yaml")?;
    let file: BTreeMap<String, String> = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    let list = file.get("initial-cluster").ok_or("no initial-cluster")?;
    let pairs = list.split(',').map(|pair| {
        let (name, url) = pair.split_once('=').ok_or_else(|| format!("{pair} is not name=url"))?;
        Ok::<_, String>((name.to_owned(), url.to_owned()))
    });
    let state = file.get("initial-cluster-state").cloned().unwrap_or_default();
    Ok((pairs.collect::<Result<_, _>>()?, state))
}
