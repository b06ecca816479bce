//! One partition of a snapshot, read in place.

use super::{BrokerId, NOBODY, Partition, Row, Snapshot, Topic};

/// A partition where it is stored.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    snapshot: &'a Snapshot,
    row: &'a Row,
}

impl<'a> View<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, row: &'a Row) -> Self {
        Self { snapshot, row }
    }

    pub(crate) fn topic(self) -> &'a Topic {
        &self.snapshot.topics[self.topic_index()]
    }

    pub(crate) fn topic_index(self) -> usize {
        self.row.topic as usize
    }

    pub(crate) fn number(self) -> i32 {
        self.row.number
    }

    /// Where its replicas begin in an array of all replicas.
    pub(crate) fn first(self) -> usize {
        self.row.first as usize
    }

    /// How many replicas it will have.
    pub(crate) fn factor(self) -> usize {
        usize::from(self.row.targets)
    }

    /// All replicas: those that it will have, then those that are being removed.
    pub(crate) fn replicas(self) -> &'a [u16] {
        &self.snapshot.replicas[self.first()..][..usize::from(self.row.replicas)]
    }

    /// The replicas that it will have when a running reassignment is done, in order.
    pub(crate) fn targets(self) -> &'a [u16] {
        &self.replicas()[..self.factor()]
    }

    /// The replicas that a running reassignment removes.
    pub(crate) fn removing(self) -> &'a [u16] {
        &self.replicas()[self.factor()..]
    }

    /// Brokers that a running reassignment adds.
    pub(crate) fn adding(self) -> impl Iterator<Item = u16> + 'a {
        let mask = self.row.adding;
        self.targets()
            .iter()
            .enumerate()
            .filter(move |(position, _)| mask >> position & 1 == 1)
            .map(|(_, broker)| *broker)
    }

    pub(crate) fn is_adding(self, position: usize) -> bool {
        self.row.adding >> position & 1 == 1
    }

    pub(crate) fn in_sync(self, position: usize) -> bool {
        self.row.in_sync >> position & 1 == 1
    }

    /// How many replicas are in sync, as far as it is known.
    pub(crate) fn synced(self) -> usize {
        (0..self.replicas().len()).filter(|position| self.in_sync(*position)).count()
    }

    /// Whether a reassignment of it runs.
    pub(crate) fn in_flight(self) -> bool {
        self.row.adding != 0 || self.row.targets != self.row.replicas
    }

    pub(crate) fn leader(self) -> Option<u16> {
        (self.row.leader != NOBODY).then(|| self.replicas()[usize::from(self.row.leader)])
    }

    /// From where a new replica is copied: the leader, or who would become it. Nobody, when no live replica is in sync.
    pub(crate) fn source(self) -> Option<u16> {
        let alive = |broker: &u16| !self.snapshot.brokers[usize::from(*broker)].dead;
        self.leader().filter(alive).or_else(|| {
            let replicas = self.replicas().iter().enumerate();
            let mut complete =
                replicas.filter(|(position, _)| self.in_sync(*position) && !self.is_adding(*position));
            complete.find(|(_, broker)| alive(broker)).map(|(_, broker)| *broker)
        })
    }

    fn sizes(self) -> &'a [u64] {
        &self.snapshot.sizes[self.first()..][..usize::from(self.row.replicas)]
    }

    /// Bytes of the largest complete replica.
    pub(crate) fn largest(self) -> u64 {
        let complete = self.sizes().iter().enumerate().filter(|(position, _)| !self.is_adding(*position));
        complete.map(|(_, size)| *size).max().unwrap_or(0)
    }

    /// Bytes of a replica when it is complete.
    pub(crate) fn size(self, position: usize) -> u64 {
        if self.is_adding(position) { self.largest() } else { self.sizes()[position] }
    }

    /// Bytes of the replica on a broker when it is complete; of the largest, on a broker that has none.
    pub(crate) fn size_on(self, broker: u16) -> u64 {
        let position = self.replicas().iter().position(|replica| *replica == broker);
        position.map_or_else(|| self.largest(), |position| self.size(position))
    }

    /// Bytes that a running reassignment still has to copy.
    pub(crate) fn to_copy(self) -> u64 {
        let adding = (0..self.factor()).filter(|position| self.is_adding(*position));
        adding.map(|position| self.largest().saturating_sub(self.sizes()[position])).sum()
    }

    pub(crate) fn bytes_in(self) -> f64 {
        self.row.bytes_in
    }

    pub(crate) fn bytes_out(self) -> f64 {
        self.row.bytes_out
    }

    /// Its file form.
    pub(super) fn describe(self) -> Partition {
        let id = |broker: &u16| self.snapshot.id(*broker);
        let replicas: Vec<BrokerId> = self.replicas().iter().map(id).collect();
        let isr = (0..replicas.len()).filter(|position| self.in_sync(*position));
        let rate = |rate: f64| self.snapshot.rates.then_some(rate);
        Partition {
            topic: self.topic().clone(),
            partition: self.number(),
            leader: self.leader().map(|leader| self.snapshot.id(leader)),
            isr: Some(isr.map(|position| replicas[position]).collect()),
            adding: self.adding().map(|broker| self.snapshot.id(broker)).collect(),
            removing: self.removing().iter().map(id).collect(),
            size: None,
            sizes: Some(self.sizes().iter().copied().map(Some).collect()),
            bytes_in: rate(self.bytes_in()),
            bytes_out: rate(self.bytes_out()),
            replicas,
        }
    }
}
