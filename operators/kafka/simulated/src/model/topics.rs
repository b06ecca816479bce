//! Topics and partitions: made, found, filled, deleted.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{Code, Kafka, Name, Refusal, Resource};

/// The setting that says how many replicas must be in sync.
pub const MIN_ISR: &str = "min.insync.replicas";

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// What tells it from another one of the same name.
    pub id: Uuid,
    /// Its partitions, by number.
    pub partitions: Vec<Partition>,
}

/// A partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// Its number.
    pub index: i32,
    /// Records in its log.
    pub records: u64,
    /// Bytes of its log.
    pub size: u64,
    /// All its replicas for now, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those of them that are being added.
    pub adding: Vec<i32>,
    /// Those of them that go when the others are in sync.
    pub removing: Vec<i32>,
    /// Those that are in sync.
    pub isr: Vec<i32>,
    /// Those that are not in sync and have everything that was acknowledged (KIP-966).
    pub eligible: Vec<i32>,
    /// Who leads it; `None` while nobody in sync is there.
    pub leader: Option<i32>,
    /// How often leadership has changed.
    pub epoch: i32,
}

/// How the partitions of a new topic are placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// So many partitions with so many replicas, by Kafka.
    Count(i32, i16),
    /// The nodes of each partition.
    Assigned(Vec<Vec<i32>>),
}

impl Kafka {
    /// How many replicas of a topic must be in sync: its own setting, the cluster's, that of a broker's file, or one.
    pub fn min_isr(&self, topic: &str) -> usize {
        let set = |resource: &Resource| self.configs.get(resource).and_then(|configs| configs.get(MIN_ISR));
        let own = set(&Resource::Topic(topic.to_owned())).or_else(|| set(&Resource::Brokers));
        let mut files =
            self.running.values().filter(|process| process.broker).map(|process| &process.settings);
        let file = files.find_map(|file| file.get(MIN_ISR));
        own.or(file).and_then(|value| value.parse().ok()).unwrap_or(1)
    }

    /// A partition.
    pub fn partition(&self, topic: &str, index: i32) -> Result<&Partition, Refusal> {
        let number = usize::try_from(index).unwrap_or(usize::MAX);
        let found = self.topics.get(topic).and_then(|topic| topic.partitions.get(number));
        found
            .map_or_else(|| Code::UnknownTopicOrPartition.because(format!("there is no {topic}-{index}")), Ok)
    }

    pub(super) fn partition_mut(&mut self, (topic, index): &Name) -> Option<&mut Partition> {
        let number = usize::try_from(*index).ok()?;
        self.topics.get_mut(topic)?.partitions.get_mut(number)
    }

    /// All partitions by name.
    pub(super) fn names(&self) -> Vec<Name> {
        let of_topic = |(name, topic): (&String, &Topic)| {
            topic.partitions.iter().map(|partition| (name.clone(), partition.index)).collect::<Vec<_>>()
        };
        self.topics.iter().flat_map(of_topic).collect()
    }

    /// Whether a partition has a replica on this node, or gets one.
    pub fn holds(&self, node: i32) -> bool {
        let mut partitions = self.topics.values().flat_map(|topic| &topic.partitions);
        partitions.any(|partition| partition.replicas.contains(&node))
    }

    /// Makes a topic whose partitions are empty; returns its id.
    pub fn create_topic(
        &mut self,
        name: &str,
        layout: &Layout,
        settings: BTreeMap<String, String>,
        validate_only: bool,
    ) -> Result<Uuid, Refusal> {
        if self.topics.contains_key(name) {
            return Code::TopicAlreadyExists.because(format!("topic {name} exists"));
        }
        for setting in settings.keys() {
            super::configs::check_topic(setting)?;
        }
        let places = self.places(layout)?;
        let id = self.new_id();
        if validate_only {
            return Ok(id);
        }
        let mut partitions = vec![];
        for (index, replicas) in (0..).zip(places) {
            for node in &replicas {
                self.put(*node, &(name.to_owned(), index), 0);
            }
            let isr: Vec<i32> = replicas.iter().copied().filter(|node| self.serves(*node)).collect();
            let leader = isr.first().copied();
            partitions.push(Partition { index, replicas, isr, leader, ..Partition::default() });
        }
        self.topics.insert(name.to_owned(), Topic { id, partitions });
        if !settings.is_empty() {
            self.configs.insert(Resource::Topic(name.to_owned()), settings);
        }
        self.logged();
        Ok(id)
    }

    fn places(&self, layout: &Layout) -> Result<Vec<Vec<i32>>, Refusal> {
        match layout {
            Layout::Assigned(places) => {
                for replicas in places {
                    self.check_assignment(replicas, &[])?;
                }
                Ok(places.clone())
            }
            Layout::Count(partitions, factor) => {
                let open: Vec<i32> = self
                    .brokers
                    .keys()
                    .copied()
                    .filter(|node| self.serves(*node) && !self.cordoned(*node))
                    .collect();
                let factor = usize::try_from(*factor).unwrap_or(0);
                if factor == 0 || factor > open.len() {
                    let message = format!("{factor} replicas with {} brokers that take any", open.len());
                    return Code::InvalidReplicationFactor.because(message);
                }
                let place =
                    |index: usize| (0..factor).map(|more| open[(index + more) % open.len()]).collect();
                Ok((0..usize::try_from(*partitions).unwrap_or(0)).map(place).collect())
            }
        }
    }

    /// Whether replicas may be on these nodes; `present`: those that are there already.
    pub(super) fn check_assignment(&self, replicas: &[i32], present: &[i32]) -> Result<(), Refusal> {
        let mut sorted = replicas.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if replicas.is_empty() || sorted.len() != replicas.len() {
            return Code::InvalidReplicaAssignment
                .because(format!("{replicas:?} names no node, or one twice"));
        }
        for node in replicas.iter().filter(|node| !present.contains(node)) {
            if !self.brokers.contains_key(node) {
                return Code::InvalidReplicaAssignment.because(format!("broker {node} is not registered"));
            }
            if self.cordoned(*node) {
                return Code::InvalidReplicaAssignment.because(format!("broker {node} is cordoned"));
            }
        }
        Ok(())
    }

    /// Deletes a topic with its data.
    pub fn delete_topic(&mut self, id: Uuid) -> Result<(), Refusal> {
        let found = self.topics.iter().find(|(_, topic)| topic.id == id).map(|(name, _)| name.clone());
        let Some(name) = found else { return Code::UnknownTopicId.because("there is no topic with this id") };
        self.topics.remove(&name);
        self.configs.remove(&Resource::Topic(name.clone()));
        for disk in self.disks.values_mut() {
            disk.replicas.retain(|(topic, _), _| *topic != name);
        }
        self.logged();
        Ok(())
    }

    /// Clients have written so many records of so many bytes in all to a partition, and everyone in sync has them.
    pub fn produce(&mut self, topic: &str, index: i32, records: u64, bytes: u64) -> Result<(), Refusal> {
        let partition = self.partition(topic, index)?;
        let (size, isr) = (partition.size + bytes, partition.isr.clone());
        let name = (topic.to_owned(), index);
        for node in isr {
            self.put(node, &name, size);
        }
        if let Some(partition) = self.partition_mut(&name) {
            partition.size = size;
            partition.records += records;
        }
        Ok(())
    }

    /// Bytes that a node's disk has of a partition.
    pub(super) fn bytes(&self, node: i32, name: &Name) -> Option<u64> {
        self.disks.get(self.disk_of(node)?)?.replicas.get(name).copied()
    }

    pub(super) fn put(&mut self, node: i32, name: &Name, bytes: u64) {
        let Some(disk) = self.disk_of(node).map(str::to_owned) else { return };
        if let Some(disk) = self.disks.get_mut(&disk) {
            disk.replicas.insert(name.clone(), bytes);
        }
    }

    /// What a disk has of a partition is gone. The last whole copy must not be.
    pub(super) fn erase(&mut self, disk: &str, name: &Name) {
        let Some(bytes) = self.disks.get_mut(disk).and_then(|disk| disk.replicas.remove(name)) else {
            return;
        };
        let Ok(partition) = self.partition(&name.0, name.1) else { return };
        let whole = |node: &i32| self.bytes(*node, name).is_some_and(|have| have >= partition.size);
        if partition.size > 0 && bytes >= partition.size && !partition.replicas.iter().any(whole) {
            self.violation(format!("the last copy of {}-{} is deleted", name.0, name.1));
        }
    }
}
