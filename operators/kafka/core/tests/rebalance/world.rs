//! A cluster that carries out moves, whole or half, as Kafka would.

use ballast_kafka_core::rebalance::{
    outcome::{Move, Plan},
    plan,
    request::Request,
    snapshot::{Broker, BrokerId, Partition, Snapshot},
};

pub use crate::generator::partition;

/// Brokers and partitions that can be changed.
#[derive(Clone)]
pub struct World {
    pub brokers: Vec<Broker>,
    pub partitions: Vec<Partition>,
}

/// A broker in a rack; no rack, if it is empty.
pub fn broker(id: BrokerId, rack: &str) -> Broker {
    Broker { id, rack: (!rack.is_empty()).then(|| rack.to_owned()), ..Broker::default() }
}

impl World {
    /// Brokers 1, 2, … in these racks.
    pub fn new(racks: &[&str], partitions: Vec<Partition>) -> Self {
        let brokers = (1..).zip(racks).map(|(id, rack)| broker(id, rack)).collect();
        Self { brokers, partitions }
    }

    pub fn of(snapshot: &Snapshot) -> Self {
        Self { brokers: snapshot.brokers().to_vec(), partitions: snapshot.partitions().collect() }
    }

    /// Changes a broker.
    pub fn with(mut self, id: BrokerId, change: impl FnOnce(&mut Broker)) -> Self {
        change(self.brokers.iter_mut().find(|broker| broker.id == id).unwrap());
        self
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.brokers.clone(), self.partitions.clone()).unwrap()
    }

    pub fn plan(&self, request: &Request) -> Plan {
        plan(&self.snapshot(), request).unwrap()
    }

    fn find(&mut self, it: &Move) -> &mut Partition {
        let found = self
            .partitions
            .iter_mut()
            .find(|partition| partition.topic == it.topic && partition.partition == it.partition);
        found.unwrap()
    }

    /// A move that is done.
    pub fn finish(&mut self, it: &Move) {
        let partition = self.find(it);
        let sizes = sizes(partition, it, 1.0);
        partition.replicas = it.to.to_vec();
        partition.sizes = Some(sizes[..it.to.len()].to_vec());
        partition.size = None;
        partition.leader = Some(it.to[0]);
        partition.isr = Some(it.to.to_vec());
        partition.adding = vec![];
        partition.removing = vec![];
    }

    /// A move that has begun, and has copied a part.
    pub fn begin(&mut self, it: &Move, part: f64) {
        if it.transfers.is_empty() {
            return self.finish(it);
        }
        let partition = self.find(it);
        let sizes = sizes(partition, it, part);
        let gone = it.from.iter().filter(|broker| !it.to.contains(broker));
        partition.removing = gone.copied().collect();
        partition.adding = it.to.iter().filter(|broker| !it.from.contains(broker)).copied().collect();
        partition.replicas = it.to.iter().chain(&partition.removing).copied().collect();
        partition.isr = Some(it.from.to_vec());
        partition.sizes = Some(sizes);
        partition.size = None;
    }
}

/// Bytes of the replicas that will be there, then of those that go.
fn sizes(partition: &Partition, it: &Move, part: f64) -> Vec<Option<u64>> {
    let old = |broker: &BrokerId| {
        let position = partition.replicas.iter().position(|replica| replica == broker)?;
        partition.sizes.as_ref().map_or(partition.size, |sizes| sizes[position])
    };
    let gone = it.from.iter().filter(|broker| !it.to.contains(broker));
    let size = |broker: &BrokerId| {
        let new = it.transfers.iter().find(|transfer| transfer.joins == *broker);
        new.map_or_else(|| old(broker), |transfer| Some((transfer.bytes as f64 * part) as u64))
    };
    it.to.iter().chain(gone).map(size).collect()
}
