//! A Kafka as far as the operator can see it: who runs on which disk, who votes, who is registered.

use std::collections::BTreeMap;

use ballast_core::{
    guard::{TicketKind, decide::Start},
    object::Children,
};
use ballast_kafka_core::{
    observed::{Answers, Partition, Quorum, Registered, Replica, addresses},
    validate::Desired,
};
use ballast_testkit::{Application, Process};

/// One cluster. A second bootstrap is what must never be, and is remembered.
#[derive(Clone, Debug, Default)]
pub struct Kafka {
    /// Processes by uid of their pod.
    pub running: BTreeMap<String, Process>,
    /// Voters: node id and directory.
    pub voters: BTreeMap<i32, String>,
    /// Registered brokers.
    pub registered: BTreeMap<i32, bool>,
    /// Ids of metadata logs, by disk.
    directories: BTreeMap<String, String>,
    /// Disks on which a quorum was begun.
    pub begun: Vec<String>,
    /// Nodes that answer nothing.
    pub silent: Vec<i32>,
    /// Nodes that answer, and do not follow the quorum's leader.
    pub lagging: Vec<i32>,
    /// A topic whose partition is on all brokers that there were when it was made.
    pub topic: Vec<i32>,
}

/// Node id at the end of a member's name.
pub fn id(member: &str) -> i32 {
    member.rsplit_once('-').unwrap().1.parse().unwrap()
}

impl Kafka {
    fn replica(&self, id: i32, directory: &str) -> Replica {
        let alive = self.process(id).is_some() && !self.lagging.contains(&id);
        Replica {
            id,
            directory: directory.to_owned(),
            end_offset: 9,
            caught_up: if alive { 100_000 } else { 1 },
        }
    }

    /// The process of a node that answers.
    pub fn process(&self, id: i32) -> Option<&Process> {
        let mine = |process: &&Process| self::id(&process.member) == id && !self.silent.contains(&id);
        self.running.values().find(mine)
    }

    fn has_quorum(&self) -> bool {
        let alive = self.voters.keys().filter(|id| self.process(**id).is_some()).count();
        !self.voters.is_empty() && alive > self.voters.len() / 2
    }

    /// Lets an observer vote.
    pub fn add_voter(&mut self, id: i32, directory: &str) -> Result<(), String> {
        let process = self.process(id).ok_or("it does not run")?;
        let real = &self.directories[&process.disk];
        if real != directory {
            return Err(format!("its directory is {real}"));
        }
        if !self.has_quorum() {
            return Err("there is no quorum".to_owned());
        }
        self.voters.insert(id, directory.to_owned());
        Ok(())
    }

    /// What it says to the operator.
    pub fn ask(&mut self, desired: &Desired, children: &Children) -> Answers {
        let mut answers = Answers::default();
        for (id, address) in addresses(desired, children) {
            let answer = self.process(id).filter(|process| process.address == address);
            answers.probes.insert(id, answer.map(drop).ok_or_else(|| "no answer".to_owned()));
        }
        if !self.has_quorum() || answers.probes.values().all(Result::is_err) {
            return answers;
        }
        // A broker whose quorum is there is in service.
        for process in self.running.values() {
            let fenced = self.silent.contains(&id(&process.member));
            self.registered.insert(id(&process.member), fenced);
        }
        for (id, fenced) in &mut self.registered {
            *fenced |= !self.running.values().any(|process| self::id(&process.member) == *id);
        }
        let leader = *self.voters.keys().find(|id| self.process(**id).is_some()).unwrap();
        let observers =
            self.running.values().filter(|process| !self.voters.contains_key(&id(&process.member)));
        answers.quorum = Some(Quorum {
            leader,
            voters: self.voters.iter().map(|(id, directory)| self.replica(*id, directory)).collect(),
            observers: observers
                .map(|process| self.replica(id(&process.member), &self.directories[&process.disk]))
                .collect(),
        });
        answers.cluster_id = desired.cluster_id();
        answers.brokers = Some(
            self.registered
                .iter()
                .map(|(id, fenced)| Registered { id: *id, fenced: *fenced, rack: None })
                .collect(),
        );
        answers.metadata_level = Some(33);
        let isr: Vec<i32> = self.topic.iter().copied().filter(|id| self.process(*id).is_some()).collect();
        answers.partitions = Some(vec![Partition {
            topic: "t".to_owned(),
            index: 0,
            leader: isr.first().copied(),
            isr,
            replicas: self.topic.clone(),
            min_isr: Some(2),
        }]);
        answers
    }
}

impl Application for Kafka {
    fn start(&mut self, process: &Process, how: &Start) -> Result<(), String> {
        if let Start::Ticket(ticket) = how {
            let directory = format!("directory-{}", self.directories.len());
            self.directories.insert(process.disk.clone(), directory.clone());
            if ticket.kind == TicketKind::Bootstrap {
                self.begun.push(process.disk.clone());
                self.voters = BTreeMap::from([(id(&process.member), directory)]);
            }
        }
        self.running.insert(process.pod.clone(), process.clone());
        Ok(())
    }

    fn stop(&mut self, pod: &str) {
        self.running.remove(pod);
    }

    fn ready(&self, pod: &str) -> bool {
        self.has_quorum()
            && self.running.get(pod).is_some_and(|process| self.process(id(&process.member)).is_some())
    }

    fn ended(&mut self) -> Vec<String> {
        vec![]
    }
}
