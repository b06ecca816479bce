//! Clusters from a seed: sizes log-normal, a few hot partitions, replication factors mixed, racks skewed, brokers that
//! are new, draining, cordoned or dead. The same seed always makes the same cluster.

use ballast_kafka_core::rebalance::snapshot::{Broker, BrokerId, Capacity, Partition, Snapshot, Topic};

/// What is made.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub seed: u64,
    pub brokers: usize,
    pub racks: usize,
    /// The first rack has about as many brokers as all others together.
    pub skewed: bool,
    pub partitions: usize,
    /// 0: a mix of 1, 2 and 3.
    pub factor: usize,
    /// Brokers with the highest ids: they have nothing yet.
    pub new: usize,
    /// Brokers with the lowest ids.
    pub draining: usize,
    pub cordoned: usize,
    pub dead: usize,
    /// Bytes of each disk, compared with what it would have if all were even; 0: not known.
    pub disk: f64,
    pub rates: bool,
    /// One topic with a replica on each broker that is neither new nor dead.
    pub everywhere: bool,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            seed: 1,
            brokers: 10,
            racks: 3,
            skewed: false,
            partitions: 100,
            factor: 3,
            new: 0,
            draining: 1,
            cordoned: 0,
            dead: 0,
            disk: 0.0,
            rates: true,
            everywhere: false,
        }
    }
}

const MIB: f64 = 1024.0 * 1024.0;

impl Shape {
    pub fn draining_ids(&self) -> Vec<BrokerId> {
        (1..).take(self.draining).collect()
    }

    pub fn new_ids(&self) -> Vec<BrokerId> {
        self.brokers().iter().rev().take(self.new).map(|broker| broker.id).collect()
    }

    pub fn brokers(&self) -> Vec<Broker> {
        let rack = |index: usize| {
            let rack = if self.skewed && index.is_multiple_of(2) {
                0
            } else {
                (index / (1 + usize::from(self.skewed))) % self.racks
            };
            format!("rack-{rack}")
        };
        (1..)
            .take(self.brokers)
            .enumerate()
            .map(|(index, id)| Broker {
                id,
                rack: (self.racks > 0).then(|| rack(index)),
                draining: index < self.draining,
                cordoned: (self.draining..self.draining + self.cordoned).contains(&index),
                dead: (self.draining + self.cordoned..).take(self.dead).any(|dead| dead == index),
                capacity: Capacity::default(),
            })
            .collect()
    }

    /// The cluster, with disks of the size that was asked for.
    pub fn build(&self) -> Snapshot {
        let mut brokers = self.brokers();
        if self.disk > 0.0 {
            let total: f64 = self
                .partitions()
                .map(|partition| partition.size.unwrap_or(0) as f64 * partition.replicas.len() as f64)
                .sum();
            let even = total / (self.brokers - self.draining) as f64;
            for broker in &mut brokers {
                broker.capacity.disk_bytes = Some((even * self.disk).ceil().max(1.0) as u64);
            }
        }
        Snapshot::new(brokers, self.partitions()).unwrap()
    }

    /// Partitions one by one, so that a large cluster is never in memory twice.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> + use<> {
        let shape = *self;
        let mut random = fastrand::Rng::with_seed(shape.seed);
        let brokers = shape.brokers();
        let holders: Vec<Broker> = brokers[..shape.brokers - shape.new].to_vec();
        let everywhere = shape.everywhere.then(|| {
            let alive: Vec<BrokerId> = holders.iter().map(|broker| broker.id).collect();
            partition("everywhere", 0, alive, 1024 * 1024)
        });
        let mut topic = Topics { number: 0, left: 0, size: 0.0, rate: 0.0, factor: 1, begin: 0 };
        let generated = (0..shape.partitions).map(move |_| {
            topic.next(&shape, &mut random);
            let mut replicas = choose(&holders, topic.begin, topic.factor, &mut random);
            topic.begin += 1;
            if random.u8(..) < 20 {
                random.shuffle(&mut replicas);
            }
            let size = topic.size * lognormal(&mut random, 0.3);
            let mut rate = topic.rate * lognormal(&mut random, 0.3);
            // Two in a hundred are hot, twenty times what they would be, and have been so for too short a time to be large.
            if random.u32(..100) < 2 {
                rate *= 20.0;
            }
            let name = format!("topic-{}", topic.number);
            let mut partition = partition(&name, topic.left as i32, replicas, size as u64);
            if shape.rates {
                partition.bytes_in = Some(rate.round());
                partition.bytes_out = Some((rate * f64::from(random.u32(0..4))).round());
            }
            partition
        });
        generated.chain(everywhere)
    }
}

pub fn partition(topic: &str, number: i32, replicas: Vec<BrokerId>, size: u64) -> Partition {
    Partition {
        topic: Topic::from(topic),
        partition: number,
        leader: replicas.first().copied(),
        isr: Some(replicas.clone()),
        adding: vec![],
        removing: vec![],
        size: Some(size),
        sizes: None,
        bytes_in: None,
        bytes_out: None,
        replicas,
    }
}

struct Topics {
    number: usize,
    left: usize,
    size: f64,
    rate: f64,
    factor: usize,
    begin: usize,
}

impl Topics {
    fn next(&mut self, shape: &Shape, random: &mut fastrand::Rng) {
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        self.number += 1;
        self.left = (lognormal(random, 1.0) * 40.0) as usize % 1000;
        self.size = 200.0 * MIB * lognormal(random, 1.8);
        // Retention differs between topics, so that large ones are not always busy.
        self.rate = self.size / (86_400.0 * lognormal(random, 0.7));
        let mixed = [1, 2, 2, 3, 3, 3, 3, 3][random.usize(..8)];
        self.factor = if shape.factor == 0 { mixed } else { shape.factor };
        self.begin = random.usize(..shape.brokers);
    }
}

/// As Kafka places them: round robin, the racks in turn where that is possible.
fn choose(holders: &[Broker], begin: usize, factor: usize, random: &mut fastrand::Rng) -> Vec<BrokerId> {
    let mut chosen: Vec<&Broker> = vec![&holders[begin % holders.len()]];
    let factor = factor.min(holders.len());
    while chosen.len() < factor {
        let begin = random.usize(..holders.len());
        let in_turn = (0..holders.len()).map(|step| &holders[(begin + step) % holders.len()]);
        let free = in_turn.filter(|broker| chosen.iter().all(|other| other.id != broker.id));
        let crowd = |broker: &&Broker| chosen.iter().filter(|other| other.rack == broker.rack).count();
        let best = free.min_by_key(crowd).unwrap();
        chosen.push(best);
    }
    chosen.into_iter().map(|broker| broker.id).collect()
}

/// exp of a normal number (Box and Muller 1958), with median 1.
fn lognormal(random: &mut fastrand::Rng, sigma: f64) -> f64 {
    let (one, other) = (random.f64().max(1e-12), random.f64());
    let normal = (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos();
    (sigma * normal).exp()
}
