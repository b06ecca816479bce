//! What must hold for every plan, worked out from the public types alone and by other ways than the planner's.

use std::collections::{BTreeMap, BTreeSet};

use ballast_kafka_core::rebalance::{
    outcome::Plan,
    snapshot::{Broker, BrokerId, Partition, Snapshot},
};

/// A snapshot that plans are judged by.
pub struct Referee {
    pub brokers: BTreeMap<BrokerId, Broker>,
    pub partitions: BTreeMap<(String, i32), Partition>,
    /// Brokers that are to be emptied.
    pub leaving: BTreeSet<BrokerId>,
}

impl Referee {
    pub fn new(snapshot: &Snapshot, leaving: &[BrokerId]) -> Self {
        Self {
            brokers: snapshot.brokers().iter().map(|broker| (broker.id, broker.clone())).collect(),
            partitions: snapshot
                .partitions()
                .map(|partition| ((partition.topic.to_string(), partition.partition), partition))
                .collect(),
            leaving: leaving.iter().copied().collect(),
        }
    }

    pub fn may_take(&self, id: BrokerId) -> bool {
        let broker = &self.brokers[&id];
        !(broker.draining || broker.cordoned || broker.dead || self.leaving.contains(&id))
    }

    /// Holds whatever the goal is.
    pub fn check(&self, plan: &Plan) {
        let mut received: BTreeMap<BrokerId, u64> = BTreeMap::new();
        for it in &plan.moves {
            let name = format!("{}-{} {:?} -> {:?}", it.topic, it.partition, it.from, it.to);
            let partition = &self.partitions[&(it.topic.to_string(), it.partition)];
            let target = target(partition);
            assert_eq!(*it.from, *target, "{name}: begins elsewhere");
            assert_eq!(it.from.len(), it.to.len(), "{name}: another number of replicas");
            let to: BTreeSet<_> = it.to.iter().copied().collect();
            assert_eq!(to.len(), it.to.len(), "{name}: twice on a broker");
            let from: BTreeSet<_> = it.from.iter().copied().collect();
            let joins: BTreeSet<_> = it.transfers.iter().map(|transfer| transfer.joins).collect();
            let leaves: BTreeSet<_> = it.transfers.iter().map(|transfer| transfer.leaves).collect();
            assert_eq!(to.difference(&from).copied().collect::<BTreeSet<_>>(), joins, "{name}: joins");
            assert_eq!(from.difference(&to).copied().collect::<BTreeSet<_>>(), leaves, "{name}: leaves");
            for broker in &joins {
                assert!(self.may_take(*broker), "{name}: broker {broker} may get nothing");
            }
            for transfer in &it.transfers {
                *received.entry(transfer.joins).or_default() += transfer.bytes;
                assert_eq!(transfer.bytes, size(partition, transfer.leaves), "{name}: size");
            }
            if !joins.is_empty() {
                self.check_racks(&name, &it.from, &it.to);
            }
        }
        self.check_disks(&received);
        let infeasible: BTreeSet<_> = plan.infeasible.iter().map(|topic| &topic.topic).collect();
        assert!(
            plan.moves.iter().all(|it| !infeasible.contains(&it.topic)),
            "a topic that is infeasible is moved"
        );
        let bytes: u64 = plan.moves.iter().flat_map(|it| &it.transfers).map(|transfer| transfer.bytes).sum();
        assert_eq!(plan.report.bytes, bytes);
        assert!(plan.blocked.iter().all(|blocked| !blocked.message.is_empty()));
    }

    /// Holds for a drain: every replica on a broker that leaves is moved once, or told of.
    pub fn check_drain(&self, plan: &Plan) {
        self.check(plan);
        let mut bound = 0;
        let mut expected: BTreeSet<(String, i32, BrokerId)> = BTreeSet::new();
        let infeasible: BTreeSet<_> = plan.infeasible.iter().map(|topic| topic.topic.to_string()).collect();
        for ((topic, number), partition) in &self.partitions {
            for broker in target(partition).into_iter().filter(|broker| self.leaving.contains(broker)) {
                bound += size(partition, broker);
                if !infeasible.contains(topic) {
                    expected.insert((topic.clone(), *number, broker));
                }
            }
        }
        let key = |topic: &dyn ToString, partition: i32, broker| (topic.to_string(), partition, broker);
        let moved = plan.moves.iter().flat_map(|it| {
            it.transfers.iter().map(move |transfer| key(&it.topic, it.partition, transfer.leaves))
        });
        let moved: Vec<_> = moved.collect();
        let blocked = plan.blocked.iter().map(|it| key(&it.topic, it.partition, it.broker));
        let told: Vec<_> = moved.iter().cloned().chain(blocked).collect();
        assert_eq!(told.len(), expected.len(), "each forced replica once");
        assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), expected, "exactly what has to move");
        assert_eq!(plan.report.lower_bound_bytes, bound, "lower bound");
        assert_eq!(plan.report.bytes + plan.report.blocked_bytes, bound, "bytes are the lower bound");
        assert!(plan.report.rack_violations_after <= plan.report.rack_violations_before);
    }

    /// Never worse than today, and the fullest rack has no more than it must, where that is better.
    fn check_racks(&self, name: &str, from: &[BrokerId], to: &[BrokerId]) {
        let (before, after) = (self.racks(from), self.racks(to));
        let least = self.least(from);
        let excess = |racks: &BTreeMap<Option<String>, usize>| {
            racks.values().map(|count| count.saturating_sub(least)).sum::<usize>()
        };
        assert!(
            excess(&after) <= excess(&before),
            "{name}: racks are worse: {before:?} -> {after:?}, least {least}"
        );
    }

    fn racks(&self, replicas: &[BrokerId]) -> BTreeMap<Option<String>, usize> {
        let mut racks = BTreeMap::new();
        for broker in replicas {
            *racks.entry(self.brokers[broker].rack.clone()).or_default() += 1;
        }
        racks
    }

    /// What the fullest rack must have: replicas dealt one by one to the emptiest rack that has a place.
    fn least(&self, replicas: &[BrokerId]) -> usize {
        let mut places: BTreeMap<Option<String>, usize> = BTreeMap::new();
        for (id, broker) in &self.brokers {
            let holds = replicas.contains(id) && !self.leaving.contains(id);
            *places.entry(broker.rack.clone()).or_default() += usize::from(self.may_take(*id) || holds);
        }
        let mut dealt: BTreeMap<Option<String>, usize> = BTreeMap::new();
        for _ in replicas {
            let free =
                places.iter().filter(|(rack, places)| dealt.get(*rack).copied().unwrap_or(0) < **places);
            let Some((rack, _)) = free.min_by_key(|(rack, _)| dealt.get(*rack).copied().unwrap_or(0)) else {
                return replicas.len();
            };
            *dealt.entry(rack.clone()).or_default() += 1;
        }
        dealt.values().copied().max().unwrap_or(0)
    }

    /// With everything that comes, and before anything has gone, nobody who gets something is above the high-water mark.
    fn check_disks(&self, received: &BTreeMap<BrokerId, u64>) {
        for (id, received) in received {
            let Some(capacity) = self.brokers[id].capacity.disk_bytes else { continue };
            let there = self.partitions.values().filter(|partition| partition.replicas.contains(id));
            let used: u64 = there.map(|partition| size(partition, *id)).sum();
            let limit = capacity as f64 * 0.85;
            assert!((used + received) as f64 <= limit + 1.0, "broker {id}: {used} + {received} > {limit}");
        }
    }
}

/// What a partition has when a reassignment is done.
pub fn target(partition: &Partition) -> Vec<BrokerId> {
    partition.replicas.iter().copied().filter(|broker| !partition.removing.contains(broker)).collect()
}

/// Bytes of a replica when it is complete.
pub fn size(partition: &Partition, broker: BrokerId) -> u64 {
    let of = |position: usize| {
        partition.sizes.as_ref().map_or(partition.size, |sizes| sizes[position]).unwrap_or(0)
    };
    let complete = (0..partition.replicas.len())
        .filter(|position| !partition.adding.contains(&partition.replicas[*position]));
    if partition.adding.contains(&broker) {
        return complete.map(of).max().unwrap_or(0);
    }
    of(partition.replicas.iter().position(|replica| *replica == broker).unwrap())
}
