//! The quorum of the controllers (KIP-853): a vote is that of a node with a directory, so that a copy on a new disk has none.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{Code, Kafka, Process, Refusal};

/// For how long a copy is told of after it last followed.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(5);

/// Who votes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voter {
    /// The directory of its copy.
    pub directory: Uuid,
    /// Where the others reach it.
    pub host: String,
}

/// A copy of the metadata log, as its leader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observer {
    /// The node.
    pub node: i32,
    /// The directory of its copy.
    pub directory: Uuid,
    /// Where its log ends; `None` if it has not asked yet.
    pub end: Option<i64>,
    /// When it last had everything.
    pub caught_up: Option<Timestamp>,
}

impl Kafka {
    fn directory(&self, process: &Process) -> Option<Uuid> {
        self.disks.get(&process.disk).map(|disk| disk.directory)
    }

    /// Whether a voter runs with the copy that votes.
    pub fn votes(&self, node: i32) -> bool {
        let voter = self.voters.get(&node);
        let process = self.process(node).filter(|process| process.controller && !self.frozen.contains(&node));
        voter.zip(process).is_some_and(|(voter, process)| self.directory(process) == Some(voter.directory))
    }

    /// Whether a majority of the voters runs.
    pub fn has_quorum(&self) -> bool {
        self.voters.keys().filter(|node| self.votes(**node)).count() > self.voters.len() / 2
    }

    pub(super) fn elect(&mut self) {
        if !self.has_quorum() {
            self.leader = None;
        } else if !self.leader.is_some_and(|leader| self.votes(leader)) {
            self.leader = self.voters.keys().copied().find(|node| self.votes(*node));
            self.epoch += 1;
            self.logged();
        }
    }

    /// Copies that follow are remembered.
    pub(super) fn follow(&mut self) {
        if self.leader.is_none() {
            return;
        }
        let (now, follow) = (self.now, self.timing.follow);
        let follows = |process: &&Process| {
            now.duration_since(process.since) >= follow && !self.frozen.contains(&process.node)
        };
        let running: Vec<_> = self.running.values().filter(follows).collect();
        let seen: Vec<_> = running
            .into_iter()
            .filter_map(|process| Some((process.node, self.directory(process)?)))
            .collect();
        self.followed.extend(seen.into_iter().map(|copy| (copy, now)));
        self.followed.retain(|_, last| now.duration_since(*last) < REMEMBERED);
    }

    fn copy_of(&self, node: i32, directory: Uuid) -> Observer {
        let last = self.followed.get(&(node, directory)).copied();
        // What has stopped has what there was then; the log only grows, so that it is behind from the next record on.
        let current = last == Some(self.now);
        let end = last.map(|_| if current { self.log } else { self.log - 1 });
        Observer { node, directory, end, caught_up: last }
    }

    /// Those who vote, as the leader sees them.
    pub fn voting(&self) -> Vec<Observer> {
        let one = |(node, voter): (&i32, &Voter)| {
            let copy = self.copy_of(*node, voter.directory);
            let leads = self.leader == Some(*node);
            // The leader itself has everything, now.
            if leads { Observer { end: Some(self.log), caught_up: Some(self.now), ..copy } } else { copy }
        };
        self.voters.iter().map(one).collect()
    }

    /// Those who only follow, or did a while ago: brokers, and controllers without a vote.
    pub fn observers(&self) -> Vec<Observer> {
        let votes = |node: i32, directory: Uuid| {
            self.voters.get(&node).is_some_and(|voter| voter.directory == directory)
        };
        let others = self.followed.keys().filter(|(node, directory)| !votes(*node, *directory));
        others.map(|(node, directory)| self.copy_of(*node, *directory)).collect()
    }

    fn check_cluster(&self, cluster: Option<&str>) -> Result<(), Refusal> {
        match cluster {
            Some(other) if other != self.id => {
                Code::InconsistentClusterId.because(format!("this is cluster {}, not {other}", self.id))
            }
            _ => Ok(()),
        }
    }

    /// Lets an observer vote.
    pub fn add_voter(
        &mut self,
        cluster: Option<&str>,
        node: i32,
        directory: Uuid,
        host: &str,
    ) -> Result<(), Refusal> {
        self.check_cluster(cluster)?;
        if self.voters.contains_key(&node) {
            return Code::DuplicateVoter.because(format!("node {node} is a voter"));
        }
        let process = self.process(node).filter(|process| process.controller);
        let follows = process.is_some_and(|process| self.directory(process) == Some(directory));
        if !follows || self.followed.get(&(node, directory)) != Some(&self.now) {
            return Code::RequestTimedOut
                .because(format!("node {node} has not caught up with directory {directory}"));
        }
        self.voters.insert(node, Voter { directory, host: host.to_owned() });
        self.logged();
        Ok(())
    }

    /// Takes a vote away.
    pub fn remove_voter(&mut self, cluster: Option<&str>, node: i32, directory: Uuid) -> Result<(), Refusal> {
        self.check_cluster(cluster)?;
        if self.voters.get(&node).is_none_or(|voter| voter.directory != directory) {
            return Code::VoterNotFound
                .because(format!("node {node} with directory {directory} is no voter"));
        }
        if self.voters.len() == 1 {
            return Code::InvalidRequest.because("it is the only voter");
        }
        self.voters.remove(&node);
        self.logged();
        if !self.has_quorum() {
            self.violation(format!("the majority of the controllers is lost with the vote of node {node}"));
        }
        let now = self.now;
        self.tick(now);
        Ok(())
    }
}
