//! How members start, and what etcd checks then.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use ballast_core::{
    guard::{Start, Ticket, TicketKind},
    hash,
    version::Minor,
};
use semver::Version;

use super::{Cluster, Entry, Etcd, Process, Replica, Running, Violation};

/// How a member starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boot {
    /// On the data that is on its disk.
    Data,
    /// On an empty disk, as the first member of a new cluster (`initial-cluster-state: new`).
    New {
        /// What makes the cluster's id (`initial-cluster-token`).
        token: String,
        /// Name and peer URL of each member (`initial-cluster`).
        list: BTreeMap<String, String>,
    },
    /// On an empty disk, as a member that was added (`initial-cluster-state: existing`).
    Existing {
        /// Name and peer URL of each member (`initial-cluster`).
        list: BTreeMap<String, String>,
    },
}

impl Boot {
    /// From the lines of etcd's configuration file that only matter on an empty disk.
    pub fn from_config(text: &str, token: &str) -> Result<Self, String> {
        let file: BTreeMap<String, serde_yaml::Value> =
            serde_yaml::from_str(text).map_err(|error| format!("the configuration: {error}"))?;
        let line = |key: &str| file.get(key).and_then(serde_yaml::Value::as_str).unwrap_or_default();
        let pairs = line("initial-cluster").split(',').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, url) = pair.split_once('=').ok_or_else(|| format!("{pair} is not name=url"))?;
            Ok::<_, String>((name.to_owned(), url.to_owned()))
        });
        let list = pairs.collect::<Result<_, _>>()?;
        match line("initial-cluster-state") {
            "new" => Ok(Self::New { token: token.to_owned(), list }),
            "existing" => Ok(Self::Existing { list }),
            other => Err(format!("unexpected initial-cluster-state {other:?}")),
        }
    }
}

impl Etcd {
    /// A member starts. An error is why it ends at once.
    pub fn boot(&mut self, process: &Process, boot: &Boot) -> Result<(), String> {
        let own = |list: &BTreeMap<String, String>| {
            let url = list.get(&process.name).cloned();
            url.ok_or_else(|| format!("couldn't find local name {:?} in the initial cluster", process.name))
        };
        match boot {
            Boot::Data => self.again(process),
            Boot::New { token, list } => {
                let own = own(list)?;
                self.bootstrap(process, token, &own);
                Ok(())
            }
            Boot::Existing { list } => self.join(process, list, &own(list)?),
        }
    }

    /// The process in this pod is gone.
    pub fn halt(&mut self, pod: &str) {
        if let Some(running) = self.running.remove(pod)
            && let Some(cluster) = self.clusters.get_mut(&running.cluster)
        {
            cluster.pods.remove(pod);
        }
    }

    /// Pods whose etcd has ended by itself since this was last asked.
    pub fn take_ended(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ended)
    }

    /// What was on the disk is gone.
    pub fn wipe(&mut self, disk: &str) {
        if let Some(replica) = self.replicas.remove(disk)
            && let Some(cluster) = self.clusters.get_mut(&replica.cluster)
        {
            cluster.disks.remove(disk);
        }
    }

    /// Clusters with a member that has been removed and still runs.
    pub fn leaving(&self) -> Vec<u64> {
        self.leaving.iter().copied().collect()
    }

    fn run(&mut self, process: &Process, cluster: u64, id: u64) {
        let running = Running { process: process.clone(), cluster, id, active_since: Some(self.now) };
        self.running.insert(process.pod.clone(), running);
        if let Some(cluster) = self.clusters.get_mut(&cluster) {
            cluster.pods.insert(process.pod.clone());
        }
    }

    fn place(&mut self, disk: &str, replica: Replica) {
        self.wipe(disk);
        if let Some(cluster) = self.clusters.get_mut(&replica.cluster) {
            cluster.disks.insert(disk.to_owned());
        }
        self.replicas.insert(disk.to_owned(), replica);
    }

    fn again(&mut self, process: &Process) -> Result<(), String> {
        let replica = self.replicas.get(&process.disk).cloned().ok_or("the disk has no replica")?;
        let cluster = self.clusters.get(&replica.cluster).ok_or("the disk is of no cluster")?;
        if cluster.removed.contains_key(&replica.id) {
            return Err("the member has been permanently removed from the cluster".to_owned());
        }
        if Minor::from(&process.version) < cluster.version {
            return Err(
                "invalid downgrade; server version is lower than determined cluster version".to_owned()
            );
        }
        self.run(process, replica.cluster, replica.id);
        Ok(())
    }

    fn bootstrap(&mut self, process: &Process, token: &str, own: &str) {
        let id = number(token);
        let member = number(&format!("{token}{own}"));
        if let Some(before) = self.clusters.get(&id)
            && (before.acknowledged > 0 || before.members.len() > 1 || before.seed_disk != process.disk)
        {
            let what = format!("{} bootstraps a second cluster", process.member);
            self.violations.push(Violation { cluster: id, what });
        }
        let entry = Entry::added(own, false);
        let cluster = Cluster {
            id,
            members: BTreeMap::from([(member, entry)]),
            removed: BTreeMap::new(),
            log: 1,
            acknowledged: 0,
            leader: None,
            term: 1,
            version: Minor::from(&process.version),
            corrupt: BTreeSet::new(),
            keys: Arc::default(),
            revision: 1,
            seed_disk: process.disk.clone(),
            pods: BTreeSet::new(),
            disks: BTreeSet::new(),
        };
        let replica = Replica { cluster: id, id: member, applied: 1, list: cluster.members.clone() };
        self.clusters.insert(id, cluster);
        self.place(&process.disk, replica);
        self.run(process, id, member);
    }

    fn join(&mut self, process: &Process, list: &BTreeMap<String, String>, own: &str) -> Result<(), String> {
        let reachable = |cluster: &&Cluster| {
            let known = cluster.members.values().any(|entry| list.values().any(|url| *url == entry.url));
            known
                && cluster
                    .pods
                    .iter()
                    .filter_map(|pod| self.running.get(pod))
                    .any(|running| self.takes_part(&running.process))
        };
        let cluster = self
            .clusters
            .values()
            .find(reachable)
            .ok_or("cannot fetch cluster info from peer urls: could not retrieve cluster information")?;
        let have: BTreeSet<&String> = cluster.members.values().map(|entry| &entry.url).collect();
        if have.len() != list.len() {
            return Err("error validating peerURLs: member count is unequal".to_owned());
        }
        if have != list.values().collect() {
            return Err("error validating peerURLs: unmatched member while checking PeerURLs".to_owned());
        }
        let (id, entry) =
            cluster.members.iter().find(|(_, entry)| entry.url == own).ok_or("not in the list")?;
        if Minor::from(&process.version) < cluster.version {
            return Err("incompatible with current running cluster".to_owned());
        }
        let (id, cluster_id, members) = (*id, cluster.id, cluster.members.clone());
        if !entry.name.is_empty() {
            let what =
                format!("member {id:x} ({}) was started before, and starts on an empty disk", process.member);
            self.violations.push(Violation { cluster: cluster_id, what });
        }
        self.place(&process.disk, Replica { cluster: cluster_id, id, applied: 0, list: members });
        self.run(process, cluster_id, id);
        Ok(())
    }
}

impl ballast_testkit::Application for Etcd {
    fn start(&mut self, process: &ballast_testkit::Process, how: &Start) -> Result<(), String> {
        let boot = match how {
            Start::Ticket(ticket) => from_ticket(ticket)?,
            Start::DataPresent | Start::Adopted { .. } => Boot::Data,
        };
        let process = Process {
            member: process.member.clone(),
            name: process.member.clone(),
            pod: process.pod.clone(),
            address: process.address.clone(),
            client_url: format!("http://{}-0:2379", process.member),
            disk: process.disk.clone(),
            version: version_of(&process.image)?,
        };
        self.boot(&process, &boot)
    }

    fn stop(&mut self, pod: &str) {
        self.halt(pod);
    }

    fn ready(&self, pod: &str) -> bool {
        self.running.get(pod).is_some_and(|running| self.is_ready(running))
    }

    fn ended(&mut self) -> Vec<String> {
        self.take_ended()
    }
}

fn from_ticket(ticket: &Ticket) -> Result<Boot, String> {
    let text = ticket.append.get("etcd.yaml").ok_or("the ticket appends nothing to etcd.yaml")?;
    let boot = Boot::from_config(text, &ticket.cluster_uid)?;
    match (ticket.kind, &boot) {
        (TicketKind::Bootstrap, Boot::New { .. }) | (TicketKind::Join, Boot::Existing { .. }) => Ok(boot),
        (kind, boot) => Err(format!("a {kind} ticket that says {boot:?}")),
    }
}

pub(super) fn number(text: &str) -> u64 {
    u64::from_str_radix(&hash::text_hash(text), 16).unwrap_or(1)
}

/// The version that an image's tag names.
pub fn version_of(image: &str) -> Result<Version, String> {
    let tag = image.rsplit(":v").next().unwrap_or_default();
    Version::parse(tag).map_err(|error| format!("{image}: {error}"))
}
