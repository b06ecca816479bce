//! What has to be known to move replicas from node to node.

use std::collections::{BTreeMap, BTreeSet};

use ballast_core::{object::Children, view::claim_view};

use crate::{
    api::{HotMode, RebalanceStatus, kafka_rebalance::Asked},
    observed::{Answers, Partition},
    rebalance::snapshot::{self, Snapshot},
    relocation,
    validate::{self, Desired},
};

/// `metadata.version` from which on a broker can be cordoned: 4.3-IV0 (KIP-1066).
pub const CORDONS: i16 = 30;

/// Topic and number.
pub type Name = (String, i32);

/// A reassignment that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassignment {
    /// Brokers that get a replica.
    pub adding: Vec<i32>,
    /// Brokers that lose one.
    pub removing: Vec<i32>,
}

/// The disks of one broker, together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disks {
    /// Size of their volumes in bytes; `None`: not known.
    pub total: Option<u64>,
    /// Bytes of each replica.
    pub replicas: BTreeMap<Name, u64>,
}

/// Names of a topic's replicas that are throttled: `partition:broker`, separated by commas, or `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// Those that send.
    pub leaders: String,
    /// Those that receive.
    pub followers: String,
}

impl Lists {
    /// Whether all replicas are meant, which no operator ever writes.
    pub fn names_all(&self) -> bool {
        [&self.leaders, &self.followers].iter().any(|list| list.contains('*'))
    }
}

/// What is asked only while replicas have to move: all of it was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moving {
    /// Reassignments that run, whoever began them.
    pub reassignments: BTreeMap<Name, Reassignment>,
    /// Disks of all brokers in service.
    pub disks: BTreeMap<i32, Disks>,
    /// What all brokers may send and receive for replicas that are throttled, in bytes per second; `None`: not limited.
    pub rates: (Option<u64>, Option<u64>),
    /// Topics that have throttled replicas.
    pub throttled: BTreeMap<String, Lists>,
    /// Brokers that are cordoned, of those in service.
    pub cordoned: BTreeSet<i32>,
}

/// Whether replicas may have to move, before it is known which nodes there are: something is there of a node that is not wanted,
/// people ask for it, or a broker has nothing.
pub fn worth_asking(
    desired: &Desired,
    status: Option<&RebalanceStatus>,
    children: &Children,
    answers: &Answers,
) -> bool {
    let wanted = |node: validate::Node<'_>| node.pool.wants(node.id);
    let leaves = |member: &str| desired.node(member).is_some_and(|node| !wanted(node));
    let sets = children.stateful_sets.iter().filter_map(|set| set.metadata.name.as_deref());
    let claims = children.claims.iter().filter_map(claim_view).filter(|claim| !claim.retired);
    let known = |id: i32| desired.pool_of(id).is_some_and(|pool| !pool.wants(id));
    let asked: Vec<Asked> = children.companions.iter().filter_map(Asked::read).collect();
    status.is_some()
        || desired.hot.mode != HotMode::Disabled
        || relocation::is_asked(&asked)
        || relocation::empty_brokers(desired, answers).next().is_some()
        || sets.into_iter().any(leaves)
        || claims.into_iter().any(|claim| leaves(&claim.member))
        || answers.brokers.iter().flatten().any(|broker| known(broker.id))
}

/// Where replicas are, with what producers write if that matters; `Err`: what was told does not fit together.
pub(crate) fn snapshot(
    leaving: &[i32],
    answers: &Answers,
    partitions: &[Partition],
    moving: &Moving,
    rates: Option<&BTreeMap<Name, f64>>,
) -> Result<Snapshot, String> {
    let brokers = brokers(leaving, answers, partitions, moving);
    let rows = partitions.iter().map(|partition| row(partition, moving, rates));
    Snapshot::new(brokers, rows).map_err(|error| error.to_string())
}

/// All that are registered, and those that only a list of replicas names: they are gone, and their replicas with them.
fn brokers(
    leaving: &[i32],
    answers: &Answers,
    partitions: &[Partition],
    moving: &Moving,
) -> Vec<snapshot::Broker> {
    let registered = answers.brokers.iter().flatten().map(|broker| snapshot::Broker {
        id: broker.id,
        rack: broker.rack.clone(),
        draining: leaving.contains(&broker.id),
        cordoned: moving.cordoned.contains(&broker.id),
        dead: broker.fenced,
        capacity: snapshot::Capacity {
            disk_bytes: moving.disks.get(&broker.id).and_then(|disks| disks.total).filter(|total| *total > 0),
            ..snapshot::Capacity::default()
        },
    });
    let mut brokers: Vec<snapshot::Broker> = registered.collect();
    let known: BTreeSet<i32> = brokers.iter().map(|broker| broker.id).collect();
    let named: BTreeSet<i32> = partitions.iter().flat_map(|partition| &partition.replicas).copied().collect();
    brokers.extend(named.difference(&known).map(|id| snapshot::Broker {
        id: *id,
        draining: leaving.contains(id),
        dead: true,
        ..snapshot::Broker::default()
    }));
    brokers
}

fn row(partition: &Partition, moving: &Moving, rates: Option<&BTreeMap<Name, f64>>) -> snapshot::Partition {
    let key = (partition.topic.clone(), partition.index);
    // The two answers are of two moments: what is not among the replicas is over, or begins only.
    let flight = moving.reassignments.get(&key);
    let among = |ids: &[i32]| ids.iter().copied().filter(|id| partition.replicas.contains(id)).collect();
    let size = |id: &i32| moving.disks.get(id).map(|disks| disks.replicas.get(&key).copied().unwrap_or(0));
    snapshot::Partition {
        topic: partition.topic.as_str().into(),
        partition: partition.index,
        replicas: partition.replicas.clone(),
        leader: partition.leader.filter(|leader| partition.replicas.contains(leader)),
        isr: Some(partition.isr.iter().copied().filter(|id| partition.replicas.contains(id)).collect()),
        adding: flight.map(|flight| among(&flight.adding)).unwrap_or_default(),
        removing: flight.map(|flight| among(&flight.removing)).unwrap_or_default(),
        size: None,
        sizes: Some(partition.replicas.iter().map(size).collect()),
        bytes_in: rates.and_then(|rates| rates.get(&key)).copied(),
        bytes_out: None,
    }
}
