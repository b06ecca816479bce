//! Reassignments (KIP-455): begun, changed, cancelled, and copied as fast as throttles let them (KIP-73).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Code, Kafka, Name, Partition, Refusal, Resource};

/// What leaders and followers may send and receive for throttled replicas, in bytes per second.
const RATES: [&str; 2] = ["leader.replication.throttled.rate", "follower.replication.throttled.rate"];
/// Which replicas of a topic are throttled while they send and receive.
const LISTS: [&str; 2] = ["leader.replication.throttled.replicas", "follower.replication.throttled.replicas"];
/// Copies get on in steps of at least so long: bytes are whole.
const STEP_MICROSECONDS: i64 = 1000;

/// A copy that gets on.
struct Stream {
    name: Name,
    from: i32,
    to: i32,
    /// Whether sender and receiver count it against their rate.
    throttled: [bool; 2],
    adding: bool,
}

impl Partition {
    /// Its replicas without those that are being added.
    fn base(&self) -> Vec<i32> {
        self.replicas.iter().copied().filter(|node| !self.adding.contains(node)).collect()
    }

    /// Whether it is being reassigned.
    pub fn moves(&self) -> bool {
        !self.adding.is_empty() || !self.removing.is_empty()
    }
}

impl Kafka {
    /// Begins or changes a reassignment; without a target, cancels it.
    pub fn reassign(
        &mut self,
        topic: &str,
        index: i32,
        target: Option<&[i32]>,
        may_change_factor: bool,
    ) -> Result<(), Refusal> {
        let partition = self.partition(topic, index)?;
        let base = partition.base();
        if target.is_none() && !partition.moves() {
            return Code::NoReassignmentInProgress.because("no reassignment is in progress");
        }
        let target = target.map_or_else(|| base.clone(), <[i32]>::to_vec);
        self.check_assignment(&target, &partition.replicas)?;
        if !may_change_factor && target.len() != base.len() {
            let message =
                format!("the number of replicas would change from {} to {}", base.len(), target.len());
            return Code::InvalidReplicationFactor.because(message);
        }
        let name = (topic.to_owned(), index);
        let adding: Vec<i32> = target.iter().copied().filter(|node| !base.contains(node)).collect();
        let given_up: Vec<i32> =
            partition.adding.iter().copied().filter(|node| !adding.contains(node)).collect();
        self.check_throttle(&name, &adding);
        for node in given_up {
            self.wasted += self.bytes(node, &name).unwrap_or(0);
            self.erase_on(node, &name);
        }
        if let Some(partition) = self.partition_mut(&name) {
            partition.removing = base.iter().copied().filter(|node| !target.contains(node)).collect();
            partition.replicas = target;
            partition.replicas.extend(&partition.removing);
            partition.adding = adding;
        }
        self.logged();
        self.settle();
        Ok(())
    }

    /// Nothing is to be copied at full speed.
    fn check_throttle(&mut self, name: &Name, adding: &[i32]) {
        for node in adding {
            let limited = self.rate(*node, 1).is_some() && self.listed(name, *node, 1);
            if !limited {
                self.violation(format!("{}-{} moves to broker {node} without a throttle", name.0, name.1));
            }
        }
    }

    /// What a broker may send (0) or receive (1) of throttled replicas.
    fn rate(&self, node: i32, side: usize) -> Option<u64> {
        let set = |resource| self.configs.get(&resource).and_then(|configs| configs.get(RATES[side]));
        set(Resource::Broker(node)).or_else(|| set(Resource::Brokers))?.parse().ok()
    }

    /// Whether a replica is throttled while it sends (0) or receives (1).
    fn listed(&self, (topic, index): &Name, node: i32, side: usize) -> bool {
        let configs = self.configs.get(&Resource::Topic(topic.clone()));
        let list = configs.and_then(|configs| configs.get(LISTS[side])).map_or("", String::as_str);
        list == "*" || list.split(',').any(|one| one == format!("{index}:{node}"))
    }

    /// Copies get on by what the time since the last step allows.
    pub(super) fn copy(&mut self) {
        let elapsed = self.now.duration_since(self.copied_at).as_micros();
        let Ok(elapsed) = u64::try_from(elapsed) else { return };
        if elapsed < STEP_MICROSECONDS.unsigned_abs() {
            return;
        }
        self.copied_at = self.now;
        let streams = self.streams();
        // How many copies share what each side may do.
        let mut shares: [BTreeMap<i32, u64>; 2] = [BTreeMap::new(), BTreeMap::new()];
        for stream in &streams {
            for (side, node) in [stream.from, stream.to].into_iter().enumerate() {
                *shares[side].entry(node).or_default() += u64::from(stream.throttled[side]);
            }
        }
        for stream in streams {
            let mut speed = self.timing.bandwidth;
            for (side, node) in [stream.from, stream.to].into_iter().enumerate() {
                if let Some(rate) = self.rate(node, side).filter(|_| stream.throttled[side]) {
                    speed = speed.min(rate / shares[side].get(&node).copied().unwrap_or(1).max(1));
                }
            }
            self.advance(&stream, speed.saturating_mul(elapsed) / 1_000_000);
        }
    }

    fn streams(&self) -> Vec<Stream> {
        let mut streams = vec![];
        for name in self.names() {
            let Ok(partition) = self.partition(&name.0, name.1) else { continue };
            let Some(from) = partition.leader.filter(|leader| self.serves(*leader)) else { continue };
            for to in partition.replicas.iter().copied().filter(|to| *to != from && self.serves(*to)) {
                if self.bytes(to, &name).is_none_or(|have| have < partition.size) {
                    let throttled = [self.listed(&name, from, 0), self.listed(&name, to, 1)];
                    let adding = partition.adding.contains(&to);
                    streams.push(Stream { name: name.clone(), from, to, throttled, adding });
                }
            }
        }
        streams
    }

    fn advance(&mut self, stream: &Stream, most: u64) {
        let size = self.partition(&stream.name.0, stream.name.1).map_or(0, |partition| partition.size);
        let have = self.bytes(stream.to, &stream.name).unwrap_or(0);
        let more = most.min(size.saturating_sub(have));
        self.put(stream.to, &stream.name, have + more);
        if stream.adding {
            self.copied += more;
        }
    }

    /// Ends a reassignment whose new replicas are all in sync.
    pub(super) fn complete(&mut self, name: &Name) {
        let Ok(partition) = self.partition(&name.0, name.1) else { return };
        if !partition.moves() || !partition.adding.iter().all(|node| partition.isr.contains(node)) {
            return;
        }
        let removing = partition.removing.clone();
        let stays = |node: &i32| !removing.contains(node);
        if !partition.isr.iter().any(stays) {
            return;
        }
        if let Some(partition) = self.partition_mut(name) {
            partition.replicas.retain(stays);
            partition.isr.retain(stays);
            partition.leader = partition.leader.filter(stays);
            partition.adding.clear();
            partition.removing.clear();
        }
        self.logged();
        self.settle_one(name);
    }

    /// Brokers that run delete what they are no longer to have.
    pub(super) fn sweep(&mut self) {
        let mut strays = vec![];
        for node in self.running.values().filter(|process| process.broker).map(|process| process.node) {
            let disk = self.disk_of(node).and_then(|disk| self.disks.get(disk));
            let there = disk.into_iter().flat_map(|disk| disk.replicas.keys());
            let stray = |name: &&Name| {
                self.partition(&name.0, name.1).is_ok_and(|partition| !partition.replicas.contains(&node))
            };
            strays.extend(there.filter(stray).map(|name| (node, name.clone())));
        }
        for (node, name) in strays {
            self.erase_on(node, &name);
        }
    }

    fn erase_on(&mut self, node: i32, name: &Name) {
        if let Some(disk) = self.disk_of(node).map(str::to_owned) {
            self.erase(&disk, name);
        }
    }

    /// Bytes that moves under way have copied so far.
    pub fn in_flight(&self) -> u64 {
        let of_partition = |name: &Name| -> u64 {
            let partition = self.partition(&name.0, name.1);
            let adding = partition.into_iter().flat_map(|partition| &partition.adding);
            adding.filter_map(|node| self.bytes(*node, name)).sum()
        };
        self.names().iter().map(of_partition).sum()
    }

    /// The least that has to be copied to take everything from a node.
    pub fn bound(&self, node: i32) -> u64 {
        let partitions = self.topics.values().flat_map(|topic| &topic.partitions);
        partitions
            .filter(|partition| partition.replicas.contains(&node))
            .map(|partition| partition.size)
            .sum()
    }

    /// When copies last got on.
    pub fn copied_at(&self) -> Timestamp {
        self.copied_at
    }
}
