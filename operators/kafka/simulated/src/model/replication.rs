//! Who is in sync and who leads, and elections of preferred leaders (KIP-460, KIP-966).

use super::{Code, Kafka, Name, Partition, Refusal};

impl Kafka {
    /// Who is in sync and who leads, of every partition; and moves that are done.
    pub(super) fn settle(&mut self) {
        if self.leader.is_none() {
            return;
        }
        for name in self.names() {
            self.settle_one(&name);
            self.complete(&name);
        }
        self.sweep();
    }

    pub(super) fn settle_one(&mut self, name: &Name) {
        let Ok(partition) = self.partition(&name.0, name.1) else { return };
        let (mut isr, mut leader) = (partition.isr.clone(), partition.leader);
        let serving: Vec<i32> = isr
            .iter()
            .copied()
            .filter(|node| partition.replicas.contains(node) && self.serves(*node))
            .collect();
        // The last one stays in the list: it alone is known to have everything.
        if !serving.is_empty() {
            isr = serving;
        }
        if !leader.is_some_and(|leader| isr.contains(&leader) && self.serves(leader)) {
            leader = partition.replicas.iter().copied().find(|node| isr.contains(node) && self.serves(*node));
        }
        if leader.is_some() {
            let joins = |node: &&i32| {
                let long_enough = self
                    .brokers
                    .get(node)
                    .is_some_and(|broker| self.now.duration_since(broker.since) >= self.timing.catch_up);
                let whole = self.bytes(**node, name).is_some_and(|have| have >= partition.size);
                !isr.contains(node) && self.serves(**node) && long_enough && whole
            };
            let more: Vec<i32> = partition.replicas.iter().filter(joins).copied().collect();
            isr.extend(more);
        }
        let changed = isr != partition.isr || leader != partition.leader;
        let led = leader != partition.leader;
        let eligible = self.eligible(name, partition, &isr);
        if let Some(partition) = self.partition_mut(name).filter(|_| changed) {
            partition.isr = isr;
            partition.eligible = eligible;
            partition.leader = leader;
            partition.epoch += i32::from(led);
            self.logged();
        }
    }

    /// Partitions with records that this node has a replica of and nobody else leads: without it, nobody is known to have all of them.
    pub(super) fn only_on(&self, node: i32) -> Vec<Name> {
        let alone = |name: &Name| {
            let partition = self.partition(&name.0, name.1);
            partition.is_ok_and(|partition| {
                let served = partition.leader.is_some_and(|leader| leader != node);
                partition.size > 0 && partition.replicas.contains(&node) && !served
            })
        };
        self.names().into_iter().filter(alone).collect()
    }

    /// While fewer are in sync than writes need, who leaves them misses nothing.
    fn eligible(&self, name: &Name, partition: &Partition, isr: &[i32]) -> Vec<i32> {
        if isr.len() >= self.min_isr(&name.0) {
            return vec![];
        }
        let before = partition.isr.iter().chain(&partition.eligible);
        before.copied().filter(|node| !isr.contains(node)).collect()
    }

    /// Has a partition led by the first of its replicas.
    pub fn elect_preferred(&mut self, topic: &str, index: i32) -> Result<(), Refusal> {
        let partition = self.partition(topic, index)?;
        let preferred = partition.replicas.first().copied();
        if preferred == partition.leader {
            return Code::ElectionNotNeeded.because("it leads already");
        }
        if !preferred.is_some_and(|node| partition.isr.contains(&node) && self.serves(node)) {
            return Code::PreferredLeaderNotAvailable.because("it is not in sync");
        }
        if let Some(partition) = self.partition_mut(&(topic.to_owned(), index)) {
            partition.leader = preferred;
            partition.epoch += 1;
        }
        self.logged();
        Ok(())
    }
}
