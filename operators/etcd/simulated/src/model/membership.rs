//! The requests that change a member list, with the checks and the refusals of a real server in its order: what the member that
//! is asked checks by itself, then whether a majority agrees, then what is checked when the change is applied.
//!
//! Source: `AddMember`, `RemoveMember`, `PromoteMember` in `etcdserver/server.go`, `ValidateConfigurationChange` in
//! `etcdserver/api/membership/cluster.go`.

use jiff::Timestamp;

use super::{Cluster, Entry, Etcd, List, Refusal, Running, Violation, start::number};

/// What a request was sent to: the member of this id in this cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The cluster.
    pub cluster: u64,
    /// The member.
    pub id: u64,
}

impl Etcd {
    /// The process that a request reaches, if it takes requests of any kind.
    pub(super) fn reach(&self, at: Endpoint) -> Result<(&Running, &Cluster), Refusal> {
        let running = self.process_of(at.cluster, at.id).ok_or(Refusal::Unreachable)?;
        if self.hung.contains(&running.process.member) {
            return Err(Refusal::Never);
        }
        Ok((running, self.clusters.get(&at.cluster).ok_or(Refusal::Unreachable)?))
    }

    /// The same for a request that learners refuse.
    pub(super) fn reach_voter(&self, at: Endpoint) -> Result<(&Running, &Cluster), Refusal> {
        let (running, cluster) = self.reach(at)?;
        let list = self.replicas.get(&running.process.disk).map(|replica| &replica.list);
        if list.and_then(|list| list.get(&at.id)).is_some_and(|entry| entry.learner) {
            return Err(Refusal::NotForLearner);
        }
        Ok((running, cluster))
    }

    /// Whether a majority hears of what this member proposes; `else_refusal` is what is said in the end when it does not.
    pub(super) fn agree(&self, at: Endpoint, else_refusal: Refusal) -> Result<(), Refusal> {
        let (running, cluster) = self.reach(at)?;
        if cluster.removed.contains_key(&at.id) && self.takes_part(&running.process) {
            return Err(Refusal::Stopped);
        }
        if self.takes_part(&running.process) && self.has_quorum(cluster) { Ok(()) } else { Err(else_refusal) }
    }

    /// Voters to which this member has been connected for long enough, itself included.
    fn connected(&self, at: Endpoint, cluster: &Cluster) -> usize {
        let since = |id: u64| self.process_of(cluster.id, id).and_then(|running| running.active_since);
        let long_enough = |id: u64| {
            let both = since(at.id).zip(since(id)).map(|(one, other)| one.max(other));
            both.is_some_and(|since| self.now.duration_since(since) >= self.health_interval)
        };
        cluster.voters().filter(|(id, _)| *id == at.id || long_enough(*id)).count()
    }

    /// Adds a learner; returns its id and the list with it.
    pub fn member_add(&mut self, at: Endpoint, url: &str) -> Result<(u64, List), Refusal> {
        let (_, cluster) = self.reach_voter(at)?;
        if !is_url(url) {
            return Err(Refusal::BadUrls);
        }
        let voters = cluster.voters().count();
        // The new member counts as one that is down. A single voter is not asked to wait.
        if voters > 1 && self.connected(at, cluster) < quorum(voters + 1) {
            return Err(Refusal::Unhealthy);
        }
        self.agree(at, Refusal::Never)?;
        let id = id_of(url, self.now);
        if cluster.removed.contains_key(&id) {
            return Err(Refusal::MemberNotFound);
        }
        if cluster.members.contains_key(&id) {
            return Err(Refusal::IdExists);
        }
        if cluster.members.values().any(|entry| entry.url == url) {
            return Err(Refusal::PeerUrlExists);
        }
        if self.strict && cluster.members.values().any(|entry| entry.learner) {
            return Err(Refusal::TooManyLearners);
        }
        let list = self.change(at, |cluster| drop(cluster.members.insert(id, Entry::added(url, true))));
        let learners = list.values().filter(|entry| entry.learner).count();
        if learners > 1 {
            let what = format!("{learners} learners at once");
            self.violations.push(Violation { cluster: at.cluster, what });
        }
        Ok((id, list))
    }

    /// Lets a learner vote.
    pub fn member_promote(&mut self, at: Endpoint, id: u64) -> Result<List, Refusal> {
        let (_, cluster) = self.reach_voter(at)?;
        // Only the leader can tell, and a follower asks it.
        self.agree(at, Refusal::NoLeader)?;
        let Some(entry) = cluster.members.get(&id) else { return Err(Refusal::MemberNotFound) };
        let applied = self.applied(at.cluster, id);
        let started = self.process_of(at.cluster, id).is_some() || !entry.name.is_empty();
        if !started || applied * 10 < cluster.log * 9 {
            return Err(Refusal::LearnerNotReady);
        }
        let voters = cluster.voters().count();
        if named(cluster, None) + 1 < quorum(voters + 1) {
            return Err(Refusal::NotEnoughStarted);
        }
        if !entry.learner {
            return Err(Refusal::NotLearner);
        }
        Ok(self.change(at, |cluster| {
            if let Some(entry) = cluster.members.get_mut(&id) {
                entry.learner = false;
            }
        }))
    }

    /// Removes a member.
    pub fn member_remove(&mut self, at: Endpoint, id: u64) -> Result<List, Refusal> {
        let (_, cluster) = self.reach_voter(at)?;
        let voters = cluster.voters().count();
        let entry = cluster.members.get(&id);
        if self.strict && entry.is_none_or(|entry| !entry.learner) {
            let rest = cluster.voters().filter(|(other, _)| *other != id).count();
            if named(cluster, Some(id)) < quorum(rest) {
                return Err(Refusal::NotEnoughStarted);
            }
            // A voter that is not connected can go: it is no part of the quorum.
            let active = id == at.id || self.alive(at.cluster, id);
            if active && self.connected(at, cluster).saturating_sub(1) < quorum(voters - 1) {
                return Err(Refusal::Unhealthy);
            }
        }
        self.agree(at, Refusal::Never)?;
        let Some(entry) = entry else { return Err(Refusal::MemberNotFound) };
        if !entry.learner {
            let alive = self.alive_voters(cluster).into_iter().filter(|other| *other != id).count();
            if voters == 1 || alive < quorum(voters - 1) {
                let why = format!("removing {} leaves {alive} of {} voters", entry.name, voters - 1);
                let what = format!("a removal broke the quorum: {why}");
                self.violations.push(Violation { cluster: at.cluster, what });
            }
        }
        let now = self.now;
        self.leaving.insert(at.cluster);
        Ok(self.change(at, |cluster| {
            cluster.members.remove(&id);
            cluster.removed.insert(id, now);
            cluster.leader = cluster.leader.filter(|leader| *leader != id);
        }))
    }

    /// Moves leadership; only the leader does this.
    pub fn move_leader(&mut self, at: Endpoint, to: u64) -> Result<(), Refusal> {
        let (running, cluster) = self.reach_voter(at)?;
        if cluster.leader != Some(at.id) || !self.takes_part(&running.process) {
            return Err(Refusal::NotLeader);
        }
        if cluster.members.get(&to).is_none_or(|entry| entry.learner) {
            return Err(Refusal::BadTransferee);
        }
        if !self.alive(at.cluster, to) {
            return Err(Refusal::Never);
        }
        if let Some(cluster) = self.clusters.get_mut(&at.cluster)
            && at.id != to
        {
            cluster.leader = Some(to);
            cluster.term += 1;
        }
        Ok(())
    }

    /// Applies a change to which a majority has agreed.
    fn change(&mut self, at: Endpoint, edit: impl FnOnce(&mut Cluster)) -> List {
        if let Some(cluster) = self.clusters.get_mut(&at.cluster) {
            edit(cluster);
            cluster.log += 1;
        }
        self.clusters.get(&at.cluster).map(|cluster| cluster.members.clone()).unwrap_or_default()
    }
}

fn quorum(voters: usize) -> usize {
    voters / 2 + 1
}

/// Voters that have ever started, without one of them.
fn named(cluster: &Cluster, without: Option<u64>) -> usize {
    cluster.voters().filter(|(id, entry)| Some(*id) != without && !entry.name.is_empty()).count()
}

/// An id is made of the URL and the second in which the member was added (`computeMemberID`).
fn id_of(url: &str, now: Timestamp) -> u64 {
    number(&format!("{url} {}", now.as_second()))
}

/// As etcd wants it (`types.NewURLs`): scheme, host and port, and no path.
fn is_url(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let port = rest.and_then(|rest| rest.rsplit_once(':')).map(|(_, port)| port);
    port.is_some_and(|port| port.parse::<u16>().is_ok())
}
