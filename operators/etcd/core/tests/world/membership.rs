//! The requests that change etcd's member list, with the refusals of a real server.

use ballast_etcd_core::observed::Listed;
use jiff::SignedDuration;

use crate::etcd::{Entry, Etcd};

/// How long all members must have been connected before one may be added (`HealthInterval`).
const HEALTHY: SignedDuration = SignedDuration::from_secs(5);

/// What a request was sent to: the member of this id in this cluster.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    pub cluster: u64,
    pub id: u64,
}

impl Etcd {
    /// The member list, as a member tells it.
    pub fn list(&self, cluster: u64) -> Vec<Listed> {
        let members = self.clusters.get(&cluster).map(|cluster| &cluster.members);
        members
            .into_iter()
            .flatten()
            .map(|(id, entry)| Listed {
                id: *id,
                name: entry.name.clone(),
                peer_urls: vec![entry.url.clone()],
                learner: entry.learner,
            })
            .collect()
    }

    fn answers(&self, to: Endpoint) -> Result<(), String> {
        let cluster = self.clusters.get(&to.cluster).ok_or("no such cluster")?;
        if !self.alive(to.cluster, to.id) {
            return Err("connection refused".to_owned());
        }
        if self.has_quorum(cluster) { Ok(()) } else { Err("request timed out".to_owned()) }
    }

    pub fn member_add(&mut self, to: Endpoint, url: &str) -> Result<Vec<Listed>, String> {
        self.answers(to)?;
        let cluster = &self.clusters[&to.cluster];
        if cluster.members.values().any(|entry| entry.url == url) {
            return Err("Peer URLs already exists".to_owned());
        }
        if self.strict && cluster.members.values().any(|entry| entry.learner) {
            return Err("too many learner members in cluster".to_owned());
        }
        // Before 3.5.30 and 3.6.11 every member must be there; since then a quorum of the grown list.
        let lenient = self.running.values().filter(|running| running.cluster == to.cluster).all(|running| {
            (running.version.minor == 5 && running.version.patch >= 30)
                || (running.version.minor == 6 && running.version.patch >= 11)
        });
        let alive = self.alive_voters(cluster).len();
        let voters = cluster.voters().count();
        let enough = if lenient { voters.div_ceil(2).max(cluster.quorum()) } else { voters };
        if alive < enough || self.now.duration_since(cluster.changed) < HEALTHY {
            return Err("unhealthy cluster".to_owned());
        }
        let id = self.new_id();
        if let Some(cluster) = self.clusters.get_mut(&to.cluster) {
            cluster.members.insert(id, Entry { name: String::new(), url: url.to_owned(), learner: true });
            cluster.log += 1;
            cluster.changed = self.now;
        }
        self.check_learners(to.cluster);
        Ok(self.list(to.cluster))
    }

    fn check_learners(&mut self, cluster: u64) {
        let learners = self.clusters[&cluster].members.values().filter(|entry| entry.learner).count();
        if learners > 1 {
            self.violations.push(format!("{learners} learners at once"));
        }
    }

    pub fn member_promote(&mut self, to: Endpoint, id: u64) -> Result<(), String> {
        self.answers(to)?;
        let cluster = &self.clusters[&to.cluster];
        let Some(entry) = cluster.members.get(&id) else { return Err("member not found".to_owned()) };
        if !entry.learner {
            return Err("can only promote a learner member".to_owned());
        }
        if !self.alive(to.cluster, id) || self.applied(to.cluster, id) * 10 < cluster.log * 9 {
            return Err("can only promote a learner member which is in sync with leader".to_owned());
        }
        let voters = cluster.voters().count() + 1;
        if self.alive_voters(cluster).len() + 1 < voters / 2 + 1 {
            return Err("re-configuration failed due to not enough started members".to_owned());
        }
        if let Some(cluster) = self.clusters.get_mut(&to.cluster) {
            if let Some(entry) = cluster.members.get_mut(&id) {
                entry.learner = false;
            }
            cluster.log += 1;
            cluster.changed = self.now;
        }
        Ok(())
    }

    pub fn member_remove(&mut self, to: Endpoint, id: u64) -> Result<(), String> {
        self.answers(to)?;
        let cluster = &self.clusters[&to.cluster];
        let Some(entry) = cluster.members.get(&id) else { return Ok(()) };
        let voters = cluster.voters().count();
        let alive = self.alive_voters(cluster);
        let rest = alive.iter().filter(|other| **other != id).count();
        if !entry.learner {
            let started =
                cluster.voters().filter(|(other, entry)| *other != id && !entry.name.is_empty()).count();
            let needed = (voters - 1) / 2 + 1;
            if self.strict && voters > 1 && started < needed {
                return Err("re-configuration failed due to not enough started members".to_owned());
            }
            if self.strict && alive.contains(&id) && rest < 1 + (voters - 1) / 2 {
                return Err("unhealthy cluster".to_owned());
            }
            if rest < needed || voters == 1 {
                let why = format!("removing {} leaves {rest} of {} voters", entry.name, voters - 1);
                self.violations.push(format!("a removal broke the quorum: {why}"));
            }
        }
        let now = self.now;
        if let Some(cluster) = self.clusters.get_mut(&to.cluster) {
            cluster.members.remove(&id);
            cluster.removed.insert(id);
            cluster.log += 1;
            cluster.changed = now;
            cluster.leader = cluster.leader.filter(|leader| *leader != id);
        }
        Ok(())
    }

    pub fn move_leader(&mut self, from: Endpoint, to: u64) -> Result<(), String> {
        self.answers(from)?;
        let alive = self.alive(from.cluster, to);
        let cluster = self.clusters.get_mut(&from.cluster).ok_or("no such cluster")?;
        if cluster.leader != Some(from.id) {
            return Err("not leader".to_owned());
        }
        if !alive || cluster.members.get(&to).is_none_or(|entry| entry.learner) {
            return Err("bad leader transferee".to_owned());
        }
        cluster.leader = Some(to);
        Ok(())
    }

    pub fn disarm(&mut self, to: Endpoint, id: u64) -> Result<(), String> {
        self.answers(to)?;
        if let Some(cluster) = self.clusters.get_mut(&to.cluster) {
            cluster.corrupt.remove(&id);
        }
        Ok(())
    }
}
