//! A Kafka as far as the operator can see it: who runs on which disk, who votes, who is registered.

use std::collections::{BTreeMap, BTreeSet};

use ballast_core::{
    guard::{TicketKind, decide::Start},
    object::Children,
};
use ballast_kafka_core::{
    moving::{Disks, Lists, Moving, Reassignment},
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
    /// Nodes whose next process runs, and never follows the quorum.
    pub stuck_next: BTreeSet<i32>,
    /// uids of pods of such.
    stuck: BTreeSet<String>,
    /// Nodes that answer, and do not follow the quorum's leader.
    pub lagging: Vec<i32>,
    /// `min.insync.replicas` of all topics; `None`: it is not told.
    pub min_isr: Option<usize>,
    /// Partitions, by topic and number.
    pub partitions: BTreeMap<(String, i32), Placed>,
    /// Brokers that take nothing new.
    pub cordoned: BTreeSet<i32>,
    /// What all brokers may send and receive for throttled replicas.
    pub rates: (Option<u64>, Option<u64>),
    /// Throttled replicas of topics.
    pub throttled: BTreeMap<String, Lists>,
    /// The finalized level of the metadata.
    pub level: i16,
    /// What producers write to each partition, in bytes per second.
    pub rates_in: Option<BTreeMap<(String, i32), f64>>,
    /// What became of the canary's records.
    pub canary: Option<ballast_kafka_core::canary::Outcomes>,
    /// What is being moved is not told.
    pub mute: bool,
    /// Which replicas are in sync is not told.
    pub blind: bool,
    /// Brokers whose disks are not told.
    pub undisclosed: Vec<i32>,
    /// Sizes of brokers' disks; the others do not tell.
    pub totals: BTreeMap<i32, u64>,
    /// Copies that make no progress.
    pub stalled: bool,
    /// Brokers to which copies make no progress.
    pub stalled_to: Vec<i32>,
    /// What moves cost: copies begun, and bytes copied.
    pub copies: u64,
    pub bytes: u64,
}

/// A partition and its copies.
#[derive(Clone, Debug, Default)]
pub struct Placed {
    pub replicas: Vec<i32>,
    pub size: u64,
    pub adding: Vec<i32>,
    pub removing: Vec<i32>,
    /// Brokers whose replica is not in sync, although they run.
    behind: Vec<i32>,
    /// Bytes that new replicas have.
    copied: BTreeMap<i32, u64>,
}

/// What a copy gets on in one tick.
const PER_TICK: u64 = 40;

impl Placed {
    pub fn of(replicas: &[i32], size: u64) -> Self {
        Self { replicas: replicas.to_vec(), size, ..Self::default() }
    }

    fn base(&self) -> Vec<i32> {
        self.replicas.iter().copied().filter(|id| !self.adding.contains(id)).collect()
    }

    /// Begins, changes or cancels a reassignment (KIP-455).
    fn reassign(&mut self, target: Option<&[i32]>) {
        let base = self.base();
        let target = target.map_or_else(|| base.clone(), <[i32]>::to_vec);
        self.adding = target.iter().copied().filter(|id| !base.contains(id)).collect();
        self.removing = base.iter().copied().filter(|id| !target.contains(id)).collect();
        self.copied.retain(|id, _| self.adding.contains(id));
        self.replicas = target;
        self.replicas.extend(&self.removing);
        self.finish();
    }

    fn finish(&mut self) {
        if self.adding.iter().all(|id| self.copied.get(id).is_some_and(|have| *have >= self.size)) {
            self.replicas.retain(|id| !self.removing.contains(id));
            self.adding.clear();
            self.removing.clear();
            self.copied.clear();
        }
    }

    /// Bytes of each replica.
    fn disk(&self, id: i32) -> Option<u64> {
        let size =
            if self.adding.contains(&id) { self.copied.get(&id).copied().unwrap_or(0) } else { self.size };
        self.replicas.contains(&id).then_some(size)
    }
}

/// Node id at the end of a member's name.
pub fn id(member: &str) -> i32 {
    member.rsplit_once('-').unwrap().1.parse().unwrap()
}

/// The newest level that an image can read.
fn reads(image: &str) -> i16 {
    let version = image.rsplit(':').next().unwrap().parse().unwrap();
    ballast_kafka_core::versions::supported(&version).unwrap().metadata_level
}

impl Kafka {
    /// One whose topics need two replicas in sync.
    pub fn new() -> Self {
        Self { min_isr: Some(2), ..Self::default() }
    }

    /// Lets the cluster use a newer level.
    pub fn finalize(&mut self, level: i16) {
        assert!(level > self.level, "{level} after {}", self.level);
        for process in self.running.values() {
            assert!(reads(&process.image) >= level, "{} runs {}", process.member, process.image);
        }
        self.level = level;
    }

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

    /// The only partition is on these brokers.
    pub fn only(&mut self, replicas: &[i32]) {
        self.partitions = BTreeMap::from([(("t".to_owned(), 0), Placed::of(replicas, 100))]);
    }

    /// From now on these brokers' replicas of a partition are behind, although they run, and no others.
    pub fn behind(&mut self, topic: &str, partition: i32, brokers: &[i32]) {
        self.partitions.get_mut(&(topic.to_owned(), partition)).unwrap().behind = brokers.to_vec();
    }

    pub fn holds(&self, id: i32) -> bool {
        self.partitions.values().any(|placed| placed.replicas.contains(&id))
    }

    /// Time passes: copies get on.
    pub fn copy(&mut self) {
        let alive: Vec<i32> = self.running.values().map(|process| id(&process.member)).collect();
        for placed in self.partitions.values_mut().filter(|_| !self.stalled) {
            let source = placed.base().iter().any(|id| alive.contains(id));
            let gets_on = |id: &&i32| source && alive.contains(id) && !self.stalled_to.contains(id);
            for to in placed.adding.clone().iter().filter(gets_on) {
                let have = placed.copied.entry(*to).or_default();
                let more = PER_TICK.min(placed.size - *have);
                *have += more;
                self.bytes += more;
            }
            placed.finish();
        }
    }

    pub fn reassign(&mut self, topic: &str, partition: i32, target: Option<&[i32]>) -> Result<(), String> {
        let placed = self.partitions.get_mut(&(topic.to_owned(), partition)).ok_or("no such partition")?;
        if target.is_none() && placed.adding.is_empty() && placed.removing.is_empty() {
            return Err("no reassignment runs".to_owned());
        }
        let before: Vec<i32> = placed.adding.clone();
        let base = placed.base();
        for id in target.unwrap_or_default().iter().filter(|id| !base.contains(id)) {
            if self.cordoned.contains(id) || !self.registered.contains_key(id) {
                return Err(format!("{id} takes nothing"));
            }
        }
        placed.reassign(target);
        self.copies += placed.adding.iter().filter(|id| !before.contains(id)).count() as u64;
        Ok(())
    }

    /// Forgets a broker: what must never happen while it has, or gets, a replica.
    pub fn unregister(&mut self, id: i32) {
        assert!(!self.holds(id), "broker {id} is unregistered and has replicas: {:?}", self.partitions);
        assert!(self.process(id).is_none(), "broker {id} is unregistered and runs");
        assert!(!self.cordoned.contains(&id), "broker {id} is unregistered and cordoned for ever");
        self.registered.remove(&id);
    }

    /// Takes a voter's vote.
    pub fn remove_voter(&mut self, id: i32, directory: &str) -> Result<(), String> {
        if self.voters.get(&id).is_none_or(|have| have != directory) || !self.has_quorum() {
            return Err("no such voter, or no quorum".to_owned());
        }
        self.voters.remove(&id);
        assert!(self.has_quorum(), "the quorum is lost with the vote of {id}");
        Ok(())
    }

    fn moving(&self) -> Moving {
        let on = |id: i32| {
            let replicas = self.partitions.iter();
            replicas.filter_map(move |(name, placed)| Some((name.clone(), placed.disk(id)?))).collect()
        };
        let flights = self.partitions.iter().filter(|(_, placed)| !placed.adding.is_empty());
        Moving {
            reassignments: flights
                .map(|(name, placed)| {
                    let (adding, removing) = (placed.adding.clone(), placed.removing.clone());
                    (name.clone(), Reassignment { adding, removing })
                })
                .collect(),
            disks: self
                .registered
                .iter()
                .filter(|(id, fenced)| !**fenced && !self.undisclosed.contains(id))
                .map(|(id, _)| (*id, Disks { total: self.totals.get(id).copied(), replicas: on(*id) }))
                .collect(),
            rates: self.rates,
            throttled: self.throttled.clone(),
            cordoned: self.cordoned.clone(),
        }
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
        let is_broker = |id: i32| desired.pool_of(id).is_some_and(|pool| pool.broker);
        let follows = |process: &&Process| !self.stuck.contains(&process.pod);
        for process in self.running.values().filter(follows).filter(|process| is_broker(id(&process.member)))
        {
            let fenced = self.silent.contains(&id(&process.member));
            self.registered.insert(id(&process.member), fenced);
        }
        for (id, fenced) in &mut self.registered {
            *fenced |= !self.running.values().any(|process| self::id(&process.member) == *id);
        }
        let leader = *self.voters.keys().find(|id| self.process(**id).is_some()).unwrap();
        let observers = self
            .running
            .values()
            .filter(|process| !self.voters.contains_key(&id(&process.member)))
            .filter(follows);
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
        answers.metadata_level = Some(self.level);
        let partition = |((topic, index), placed): (&(String, i32), &Placed)| {
            let follows = |id: &i32| self.process(*id).is_some() && !placed.behind.contains(id);
            let isr: Vec<i32> = placed.base().into_iter().filter(follows).collect();
            Partition {
                topic: topic.clone(),
                index: *index,
                leader: isr.first().copied(),
                isr,
                replicas: placed.replicas.clone(),
                min_isr: self.min_isr,
            }
        };
        answers.partitions = (!self.blind).then(|| self.partitions.iter().map(partition).collect());
        answers.rates.clone_from(&self.rates_in);
        answers.canary.clone_from(&self.canary);
        answers.moving = (!self.mute).then(|| self.moving());
        answers
    }
}

impl Application for Kafka {
    fn start(&mut self, process: &Process, how: &Start) -> Result<(), String> {
        if let Start::Ticket(ticket) = how {
            let directory = format!("directory-{}", self.directories.len());
            self.directories.insert(process.disk.clone(), directory.clone());
            if ticket.kind == TicketKind::Bootstrap {
                self.level = reads(&process.image);
                self.begun.push(process.disk.clone());
                self.voters = BTreeMap::from([(id(&process.member), directory)]);
            }
        }
        if reads(&process.image) < self.level {
            return Err(format!("{} cannot read level {}", process.image, self.level));
        }
        if self.stuck_next.remove(&id(&process.member)) {
            self.stuck.insert(process.pod.clone());
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
