//! Elections, replication, names, versions: what happens without anybody asking.

use std::collections::BTreeMap;

use ballast_core::version::Minor;
use jiff::{SignedDuration, Timestamp};

use super::{Cluster, Etcd, Process, Running, Violation};

/// How long a member goes on after it learned that it was removed (`stopWithDelay`).
const FAREWELL: SignedDuration = SignedDuration::from_secs(1);

impl Etcd {
    /// Time passes, for all clusters.
    pub fn tick(&mut self, now: Timestamp) {
        self.now = now;
        for id in self.clusters.keys().copied().collect::<Vec<_>>() {
            self.settle(id);
        }
    }

    /// The same for one cluster.
    pub fn tick_one(&mut self, now: Timestamp, id: u64) {
        self.now = now;
        self.settle(id);
    }

    fn settle(&mut self, id: u64) {
        let Some(mut cluster) = self.clusters.get(&id).cloned() else { return };
        self.connect(&cluster);
        if self.has_quorum(&cluster) {
            self.elect(&mut cluster);
            self.replicate(&mut cluster);
            agree_on_version(&mut cluster, &self.running, |process| self.takes_part(process));
        } else {
            cluster.leader = None;
        }
        self.clusters.insert(id, cluster);
    }

    /// Who takes part, and since when.
    fn connect(&mut self, cluster: &Cluster) {
        let now = self.now;
        for pod in &cluster.pods {
            let takes_part = self.running.get(pod).is_some_and(|running| self.takes_part(&running.process));
            if let Some(running) = self.running.get_mut(pod) {
                running.active_since = takes_part.then(|| running.active_since.unwrap_or(now));
            }
        }
    }

    fn elect(&mut self, cluster: &mut Cluster) {
        let alive = self.alive_voters(cluster);
        if !cluster.leader.is_some_and(|leader| alive.contains(&leader)) {
            cluster.leader = alive.iter().copied().max_by_key(|id| self.applied(cluster.id, *id));
            cluster.term += 1;
        }
        let best = alive.iter().map(|id| self.applied(cluster.id, *id)).max().unwrap_or(0);
        if best < cluster.acknowledged {
            let what =
                format!("acknowledged write {} is lost: the best voter has {best}", cluster.acknowledged);
            self.violations.push(Violation { cluster: cluster.id, what });
        }
    }

    fn replicate(&mut self, cluster: &mut Cluster) {
        let mut told = vec![];
        let mut leaving = false;
        for pod in cluster.pods.clone() {
            let Some(running) = self.running.get(&pod) else { continue };
            let removed = cluster.removed.get(&running.id).copied();
            leaving |= removed.is_some();
            if !self.takes_part(&running.process) {
                continue;
            }
            if let Some(since) = removed {
                if self.now.duration_since(since) >= FAREWELL {
                    cluster.pods.remove(&pod);
                    self.running.remove(&pod);
                    self.ended.push(pod);
                }
                continue;
            }
            let Some(entry) = cluster.members.get_mut(&running.id) else { continue };
            let behind = entry.learner
                && running.active_since.is_some_and(|since| self.now.duration_since(since) < self.catch_up);
            if entry.name.is_empty() && !behind {
                entry.name.clone_from(&running.process.name);
                entry.client_url.clone_from(&running.process.client_url);
            }
            let grows = !behind && !self.slow.contains(&running.process.member);
            told.push((running.process.disk.clone(), grows));
        }
        if leaving {
            self.leaving.insert(cluster.id);
        } else {
            self.leaving.remove(&cluster.id);
        }
        for (disk, grows) in told {
            let Some(replica) = self.replicas.get_mut(&disk) else { continue };
            if replica.list != cluster.members {
                replica.list.clone_from(&cluster.members);
            }
            if grows {
                replica.applied = cluster.log;
            }
        }
    }
}

/// The version that all members have, once all have told theirs; it is never lowered.
fn agree_on_version(
    cluster: &mut Cluster,
    running: &BTreeMap<String, Running>,
    takes_part: impl Fn(&Process) -> bool,
) {
    let versions: Vec<Minor> = cluster
        .pods
        .iter()
        .filter_map(|pod| running.get(pod))
        .filter(|running| cluster.members.contains_key(&running.id) && takes_part(&running.process))
        .map(|running| Minor::from(&running.process.version))
        .collect();
    let lowest = versions.iter().min().copied();
    if let Some(lowest) =
        lowest.filter(|lowest| versions.len() >= cluster.members.len() && *lowest > cluster.version)
    {
        cluster.version = lowest;
    }
}
