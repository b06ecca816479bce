//! The cluster as it will be, while a plan is made: replica lists, what brokers have, and how much is too much.

use super::{
    load::{self, Load, RESOURCES, Resource, real},
    order,
    request::{Goal, Request},
    roster::Roster,
    snapshot::{Broker, BrokerId, Snapshot, View},
};

/// How a plan weighs.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// How much worse a broker above its share is than another: the k in exp(k·(u−1)).
    steepness: f64,
    disk_high_water: f64,
}

impl Style {
    /// A drain has to place everything and wants an even result; who relieves brokers looks at the fullest.
    pub(super) fn of(request: &Request) -> Self {
        let steepness = match request.goal {
            Goal::Drain { .. } | Goal::Spread { .. } => 4.0,
            Goal::HotPartitions | Goal::Full => 8.0,
        };
        Self { steepness, disk_high_water: request.disk_high_water }
    }
}

/// A replica that was given another broker.
#[derive(Clone, Copy)]
pub(super) struct Copied {
    pub(super) row: usize,
    pub(super) leaves: u16,
    pub(super) joins: u16,
    pub(super) bytes: u64,
}

pub(super) struct Layout<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) roster: &'a Roster,
    pub(super) style: Style,
    /// As [`Snapshot`] stores replicas; only the parts that partitions will have are ever changed.
    lists: Vec<u16>,
    loads: Vec<Load>,
    /// What each staying broker should have.
    fair: Vec<Load>,
    /// exp(k·(u−1)) per broker and resource; 0 for resources of which nothing is known.
    heat: Vec<Load>,
    /// Bytes on disk, if everything that comes is there before anything has gone.
    peak: Vec<f64>,
    /// Bytes that a broker may hold.
    room: Vec<f64>,
    /// Replicas per topic and broker, for topics of more than one partition.
    crowd: Vec<u16>,
    crowd_row: Vec<u32>,
    /// Replicas per topic and staying broker on average, at least 1.
    crowd_average: Vec<f64>,
    seeds: Vec<u64>,
    /// Brokers with one replica that is more of a resource than any broker should have: nothing is moved because of them.
    hopeless: Vec<[bool; RESOURCES]>,
    pub(super) copied: Vec<Copied>,
}

/// A topic of one partition cannot crowd.
const ALONE: u32 = u32::MAX;

impl<'a> Layout<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, roster: &'a Roster, style: Style) -> Self {
        let brokers = snapshot.brokers();
        let mut lists = Vec::new();
        let mut loads = vec![Load::default(); brokers.len()];
        let mut peak = vec![0.0; brokers.len()];
        let mut partitions = vec![0_u32; snapshot.topics().len()];
        let mut replicas = vec![0_u64; snapshot.topics().len()];
        for view in snapshot.views() {
            let end = view.first() + view.replicas().len();
            lists.resize(end.max(lists.len()), 0);
            lists[view.first()..end].copy_from_slice(view.replicas());
            partitions[view.topic_index()] += 1;
            replicas[view.topic_index()] += view.factor() as u64;
            for (position, broker) in view.replicas().iter().enumerate() {
                let broker = usize::from(*broker);
                let bytes = view.size(position);
                peak[broker] += real(bytes);
                if position < view.factor() {
                    loads[broker] = load::plus(loads[broker], &load::replica(view, position, bytes));
                }
            }
        }
        let counted = |index: usize| roster.staying[index] || roster.leaving[index];
        let total = sum(&loads, counted);
        let fair = shares(brokers, &roster.staying, &total);
        let room = brokers.iter().map(|broker| {
            broker.capacity.disk_bytes.map_or(f64::INFINITY, |bytes| real(bytes) * style.disk_high_water)
        });
        let mut rows = 0;
        let crowd_row: Vec<u32> = partitions
            .iter()
            .map(|count| {
                let row = if *count > 1 { rows } else { ALONE };
                rows += u32::from(*count > 1);
                row
            })
            .collect();
        let staying = roster.staying.iter().filter(|staying| **staying).count().max(1);
        let average = |replicas: &u64| (real(*replicas) / real(staying as u64)).max(1.0);
        let mut layout = Self {
            snapshot,
            roster,
            style,
            lists,
            fair,
            heat: vec![Load::default(); brokers.len()],
            peak,
            room: room.collect(),
            crowd: vec![0; rows as usize * brokers.len()],
            crowd_row,
            crowd_average: replicas.iter().map(average).collect(),
            seeds: order::seeds(snapshot),
            hopeless: vec![[false; RESOURCES]; brokers.len()],
            copied: Vec::new(),
            loads,
        };
        for view in snapshot.views() {
            for broker in view.targets() {
                layout.crowd(view, *broker, true);
            }
        }
        for index in 0..brokers.len() {
            layout.warm(index);
        }
        layout
    }

    /// The list that a partition will have.
    pub(super) fn list(&self, row: usize) -> &[u16] {
        let view = self.snapshot.view(row);
        &self.lists[view.first()..][..view.factor()]
    }

    /// What the replica at a position costs.
    pub(super) fn cost(&self, row: usize, position: usize) -> Load {
        load::replica(self.snapshot.view(row), position, self.bytes(row, position))
    }

    pub(super) fn bytes(&self, row: usize, position: usize) -> u64 {
        self.snapshot.view(row).size_on(self.list(row)[position])
    }

    pub(super) fn load(&self, broker: u16) -> &Load {
        &self.loads[usize::from(broker)]
    }

    pub(super) fn loads(&self) -> &[Load] {
        &self.loads
    }

    pub(super) fn fair(&self, broker: u16) -> &Load {
        &self.fair[usize::from(broker)]
    }

    pub(super) fn heat(&self, broker: u16) -> &Load {
        &self.heat[usize::from(broker)]
    }

    /// What a staying broker has, compared with its share; 0, if nothing is known of the resource.
    pub(super) fn ratio(&self, broker: u16, resource: Resource) -> f64 {
        let fair = self.fair(broker)[resource.index()];
        if fair > 0.0 { self.load(broker)[resource.index()] / fair } else { 0.0 }
    }

    /// What a broker has, compared with its share, if moving other replicas away can help it; else 0.
    pub(super) fn helpable(&self, broker: u16, resource: Resource) -> f64 {
        let hopeless = self.hopeless[usize::from(broker)][resource.index()];
        if hopeless { 0.0 } else { self.ratio(broker, resource) }
    }

    /// Marks brokers that no move brings below the limit, since one replica alone is above it for every broker.
    pub(super) fn give_up(&mut self, limit: f64, resources: &[Resource]) {
        for resource in resources {
            let index = resource.index();
            let most = self.roster.targets.iter().map(|broker| self.fair(*broker)[index]).fold(0.0, f64::max);
            for row in 0..self.snapshot.len() {
                for position in 0..self.list(row).len() {
                    if most > 0.0 && self.cost(row, position)[index] > limit * most {
                        let broker = usize::from(self.list(row)[position]);
                        self.hopeless[broker][index] = true;
                    }
                }
            }
        }
    }

    /// Whether a broker's disk has room for so many bytes more, below the high-water mark.
    pub(super) fn has_room(&self, broker: u16, bytes: u64) -> bool {
        self.room_left(broker) >= real(bytes)
    }

    pub(super) fn room_left(&self, broker: u16) -> f64 {
        self.room[usize::from(broker)] - self.peak[usize::from(broker)]
    }

    /// How many replicas of a partition's topic a broker has, compared with the average, at least 1.
    pub(super) fn crowding(&self, row: usize, broker: u16) -> f64 {
        let view = self.snapshot.view(row);
        let brokers = self.heat.len();
        let crowd_row = self.crowd_row[view.topic_index()];
        if crowd_row == ALONE {
            return 0.0;
        }
        let counts = &self.crowd[crowd_row as usize * brokers..][..brokers];
        f64::from(counts[usize::from(broker)]) / self.crowd_average[view.topic_index()]
    }

    /// A number that is the replica's alone, to break ties with.
    pub(super) fn tie(&self, row: usize, broker: u16) -> u64 {
        let view = self.snapshot.view(row);
        order::of(self.seeds[view.topic_index()], view.number(), self.id(broker))
    }

    pub(super) fn id(&self, broker: u16) -> BrokerId {
        self.snapshot.id(broker)
    }

    /// Whether this plan put a replica of the partition on the broker.
    pub(super) fn is_new(&self, row: usize, broker: u16) -> bool {
        !self.snapshot.view(row).targets().contains(&broker)
    }

    /// How much worse the cluster becomes for each broker that gets `load`; per resource, to be weighed with its heat.
    /// Negative loads make it better.
    pub(super) fn slope(&self, broker: u16, load: &Load) -> Load {
        let fair = self.fair(broker);
        std::array::from_fn(|index| {
            if fair[index] > 0.0 {
                (self.style.steepness * load[index] / fair[index]).clamp(-STEEPEST, STEEPEST).exp_m1()
            } else {
                0.0
            }
        })
    }

    /// Gives the replica at a position to another broker.
    pub(super) fn replace(&mut self, row: usize, position: usize, joins: u16) {
        let view = self.snapshot.view(row);
        let (leaves, bytes) = (self.list(row)[position], self.bytes(row, position));
        let cost = self.cost(row, position);
        self.lists[view.first() + position] = joins;
        self.peak[usize::from(joins)] += real(bytes);
        self.crowd(view, leaves, false);
        self.crowd(view, joins, true);
        self.shift(leaves, joins, &cost);
        self.copied.push(Copied { row, leaves, joins, bytes });
    }

    /// Makes the replica at a position the preferred leader; the former takes its place in the list.
    pub(super) fn lead(&mut self, row: usize, position: usize) {
        let view = self.snapshot.view(row);
        let (former, next) = (self.list(row)[0], self.list(row)[position]);
        self.lists.swap(view.first(), view.first() + position);
        self.shift(former, next, &load::leadership(view));
    }

    fn shift(&mut self, from: u16, to: u16, load: &Load) {
        let (from, to) = (usize::from(from), usize::from(to));
        self.loads[from] = load::minus(self.loads[from], load);
        self.loads[to] = load::plus(self.loads[to], load);
        self.warm(from);
        self.warm(to);
    }

    fn warm(&mut self, broker: usize) {
        let (load, fair) = (&self.loads[broker], &self.fair[broker]);
        self.heat[broker] = std::array::from_fn(|index| {
            if fair[index] > 0.0 {
                (self.style.steepness * (load[index] / fair[index] - 1.0)).min(STEEPEST).exp()
            } else {
                0.0
            }
        });
    }

    fn crowd(&mut self, view: View<'_>, broker: u16, comes: bool) {
        let row = self.crowd_row[view.topic_index()];
        if row != ALONE {
            let count = &mut self.crowd[row as usize * self.heat.len() + usize::from(broker)];
            *count = if comes { count.saturating_add(1) } else { count.saturating_sub(1) };
        }
    }
}

/// Beyond this, exponentials would no longer be finite.
const STEEPEST: f64 = 300.0;

/// What brokers have together.
pub(super) fn sum(loads: &[Load], counts: impl Fn(usize) -> bool) -> Load {
    let counted = loads.iter().enumerate().filter(|(index, _)| counts(*index));
    counted.fold(Load::default(), |total, (_, load)| load::plus(total, load))
}

/// What each member should have of a total: by capacity if all members tell theirs, else the same. Counts follow disks.
pub(super) fn shares(brokers: &[Broker], members: &[bool], total: &Load) -> Vec<Load> {
    let capacity = |broker: &Broker, resource: Resource| match resource {
        Resource::Disk | Resource::Leaders | Resource::Replicas => broker.capacity.disk_bytes,
        Resource::NetworkIn => broker.capacity.network_in,
        Resource::NetworkOut => broker.capacity.network_out,
    };
    let mut shares = vec![[0.0; RESOURCES]; brokers.len()];
    for resource in Resource::ALL {
        let inside = || brokers.iter().enumerate().filter(|(index, _)| members[*index]);
        let known = inside().all(|(_, broker)| capacity(broker, resource).is_some());
        let weight = |broker: &Broker| if known { capacity(broker, resource).map_or(1.0, real) } else { 1.0 };
        let weights: f64 = inside().map(|(_, broker)| weight(broker)).sum();
        for (index, broker) in inside() {
            shares[index][resource.index()] = total[resource.index()] * weight(broker) / weights;
        }
    }
    shares
}
