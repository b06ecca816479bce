//! What members answer about themselves, and what clients read and write.

use std::sync::Arc;

use ballast_core::{hash, version::Minor};
use semver::Version;

use super::{Endpoint, Etcd, List, Refusal, Running};

/// A member's own view (`Maintenance.Status`): local, so it says nothing about a majority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The member.
    pub at: Endpoint,
    /// Its version.
    pub version: Version,
    /// Who leads, as far as it knows; 0 is nobody.
    pub leader: u64,
    /// How often there was an election.
    pub term: u64,
    /// Index of the last entry that it knows to be committed.
    pub raft_index: u64,
    /// Index of the last entry on its disk.
    pub applied_index: u64,
    /// Size of its database in bytes.
    pub db_size: i64,
    /// Whether it knows itself as a learner.
    pub learner: bool,
    /// The revision of the keys.
    pub revision: i64,
    /// What it complains about.
    pub errors: Vec<String>,
}

/// A key's value, and its place in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The bytes.
    pub value: Vec<u8>,
    /// The revision that made it.
    pub created: i64,
    /// The revision that wrote it last.
    pub modified: i64,
    /// How often it has been written.
    pub version: i64,
}

/// What an alarm is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmKind {
    /// Data differs between members.
    Corrupt,
}

/// An alarm of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// The member.
    pub id: u64,
    /// What it is about.
    pub kind: AlarmKind,
}

impl Etcd {
    /// The member in this pod, as an endpoint.
    pub fn endpoint(&self, pod: &str) -> Option<Endpoint> {
        self.running.get(pod).map(|running| Endpoint { cluster: running.cluster, id: running.id })
    }

    /// `Maintenance.Status`.
    pub fn status(&self, at: Endpoint) -> Result<Status, Refusal> {
        let (running, cluster) = self.reach(at)?;
        let part = self.takes_part(&running.process) && self.has_quorum(cluster);
        let applied = self.replicas.get(&running.process.disk).map_or(0, |replica| replica.applied);
        let leader = cluster.leader.filter(|_| part).unwrap_or(0);
        let mut errors = vec![];
        if leader == 0 {
            errors.push(Refusal::NoLeader.to_string());
        }
        errors.extend(cluster.corrupt.iter().map(|id| format!("memberID:{id} alarm:CORRUPT ")));
        Ok(Status {
            at,
            version: running.process.version.clone(),
            leader,
            term: cluster.term,
            raft_index: if part { cluster.log } else { applied },
            applied_index: applied,
            db_size: 1 << 20,
            learner: self.view(running).get(&at.id).is_some_and(|entry| entry.learner),
            revision: cluster.revision,
            errors,
        })
    }

    /// A member that takes part has applied what a majority has agreed on before it answers a linearizable read, also right after
    /// it has started; any other knows what it was told last.
    fn view(&self, running: &Running) -> List {
        let cluster = self.clusters.get(&running.cluster).filter(|cluster| {
            self.has_quorum(cluster)
                && self.takes_part(&running.process)
                && cluster.members.contains_key(&running.id)
        });
        if let Some(cluster) = cluster {
            return cluster.members.clone();
        }
        self.replicas.get(&running.process.disk).map(|replica| replica.list.clone()).unwrap_or_default()
    }

    /// `Cluster.MemberList`: what the member that is asked knows, or what the majority knows.
    pub fn list(&self, at: Endpoint, linearizable: bool) -> Result<List, Refusal> {
        let (running, cluster) = self.reach_voter(at)?;
        if linearizable {
            self.agree(at, Refusal::TimedOut)?;
            return Ok(cluster.members.clone());
        }
        Ok(self.view(running))
    }

    /// `KV.Range` of one key: linearizable, or what the member has.
    pub fn read(&self, at: Endpoint, key: &[u8], linearizable: bool) -> Result<Option<Value>, Refusal> {
        let (_, cluster) = if linearizable { self.reach_voter(at)? } else { self.reach(at)? };
        if linearizable {
            self.agree(at, Refusal::TimedOut)?;
        }
        Ok(cluster.keys.get(key).cloned())
    }

    /// `KV.Put`; returns the new revision.
    pub fn put(&mut self, at: Endpoint, key: &[u8], value: &[u8]) -> Result<i64, Refusal> {
        let (_, cluster) = self.reach_voter(at)?;
        let corrupt = !cluster.corrupt.is_empty();
        self.agree(at, Refusal::DeadlineExceeded)?;
        if corrupt {
            return Err(Refusal::Corrupt);
        }
        if !self.write(at.cluster) {
            return Err(Refusal::DeadlineExceeded);
        }
        let cluster = self.clusters.get_mut(&at.cluster).ok_or(Refusal::Unreachable)?;
        cluster.revision += 1;
        let revision = cluster.revision;
        let before = cluster.keys.get(key);
        let value = Value {
            value: value.to_vec(),
            created: before.map_or(revision, |before| before.created),
            modified: revision,
            version: before.map_or(1, |before| before.version + 1),
        };
        Arc::make_mut(&mut cluster.keys).insert(key.to_vec(), value);
        Ok(revision)
    }

    /// `Maintenance.HashKV` at the newest revision: the hash and the revision. Members with an alarm differ from the others.
    pub fn hash_kv(&self, at: Endpoint) -> Result<(u32, i64), Refusal> {
        let (_, cluster) = self.reach_voter(at)?;
        let mut text = format!("{:?}", cluster.keys);
        if cluster.corrupt.contains(&at.id) {
            text.push_str("corrupt");
        }
        let hash = u64::from_str_radix(&hash::text_hash(&text), 16).unwrap_or(0);
        Ok((u32::try_from(hash & u64::from(u32::MAX)).unwrap_or(0), cluster.revision))
    }

    /// Alarms that are raised: asked of the majority.
    pub fn alarms(&self, at: Endpoint) -> Result<Vec<Alarm>, Refusal> {
        let (_, cluster) = self.reach_voter(at)?;
        self.agree(at, Refusal::DeadlineExceeded)?;
        Ok(cluster.corrupt.iter().map(|id| Alarm { id: *id, kind: AlarmKind::Corrupt }).collect())
    }

    /// Raises an alarm for a member.
    pub fn alarm(&mut self, at: Endpoint, id: u64) -> Result<(), Refusal> {
        self.reach_voter(at)?;
        self.agree(at, Refusal::DeadlineExceeded)?;
        if let Some(cluster) = self.clusters.get_mut(&at.cluster) {
            cluster.corrupt.insert(id);
            cluster.log += 1;
        }
        Ok(())
    }

    /// Disarms the alarm of a member; returns what was disarmed.
    pub fn disarm(&mut self, at: Endpoint, id: u64) -> Result<Vec<Alarm>, Refusal> {
        self.reach_voter(at)?;
        self.agree(at, Refusal::DeadlineExceeded)?;
        let Some(cluster) = self.clusters.get_mut(&at.cluster) else { return Err(Refusal::Unreachable) };
        cluster.log += 1;
        let had = cluster.corrupt.remove(&id);
        Ok(if had { vec![Alarm { id, kind: AlarmKind::Corrupt }] } else { vec![] })
    }

    /// The version on which the members have agreed (`/version`).
    pub fn cluster_version(&self, at: Endpoint) -> Result<Minor, Refusal> {
        self.reach(at).map(|(_, cluster)| cluster.version)
    }

    /// Whether the readiness probe (`/readyz`) succeeds: a linearizable read, no learner, no corruption anywhere.
    pub fn is_ready(&self, running: &Running) -> bool {
        let sound = self.clusters.get(&running.cluster).is_some_and(|cluster| cluster.corrupt.is_empty());
        sound && self.serves(running) && !self.unready.contains(&running.process.member)
    }
}
