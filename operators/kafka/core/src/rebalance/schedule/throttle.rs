//! What a throttle has to name, how slow it may be, and how long a plan takes under it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::super::{
    load::whole,
    outcome::Move,
    snapshot::{BrokerId, Snapshot, Topic},
};

/// The replicas of one topic that a throttle slows down: only those of partitions that are copied, since `*` would
/// also slow down replicas that catch up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThrottledTopic {
    /// Topic.
    pub topic: Topic,
    /// Partition and broker of each replica that sends.
    pub leaders: BTreeSet<(i32, BrokerId)>,
    /// Partition and broker of each replica that receives.
    pub followers: BTreeSet<(i32, BrokerId)>,
}

impl ThrottledTopic {
    /// Value of the topic's `leader.replication.throttled.replicas`.
    pub fn leader_value(&self) -> String {
        value(&self.leaders)
    }

    /// Value of the topic's `follower.replication.throttled.replicas`.
    pub fn follower_value(&self) -> String {
        value(&self.followers)
    }
}

fn value(replicas: &BTreeSet<(i32, BrokerId)>) -> String {
    let replicas = replicas.iter().map(|(partition, broker)| format!("{partition}:{broker}"));
    replicas.collect::<Vec<_>>().join(",")
}

/// What has to be throttled when `starting` has been sent: that, and every reassignment that runs. A topic that is
/// not named here and has such a list has a leftover. Every replica that has the data may lead, so all of them are named.
pub fn throttled(snapshot: &Snapshot, starting: &[&Move]) -> Vec<ThrottledTopic> {
    let mut topics: BTreeMap<Topic, ThrottledTopic> = BTreeMap::new();
    let mut add = |row: usize, joins: Vec<BrokerId>| {
        let view = snapshot.view(row);
        let topic = topics.entry(view.topic().clone()).or_insert_with(|| ThrottledTopic {
            topic: view.topic().clone(),
            leaders: BTreeSet::new(),
            followers: BTreeSet::new(),
        });
        let complete = view.replicas().iter().enumerate().filter(|(position, _)| !view.is_adding(*position));
        topic.leaders.extend(complete.map(|(_, broker)| (view.number(), snapshot.id(*broker))));
        topic.followers.extend(joins.into_iter().map(|broker| (view.number(), broker)));
    };
    for (row, view) in snapshot.views().enumerate() {
        if view.adding().next().is_some() {
            add(row, view.adding().map(|broker| snapshot.id(broker)).collect());
        }
    }
    for it in starting.iter().filter(|it| !it.transfers.is_empty()) {
        if let Some(row) = snapshot.find(&it.topic, it.partition) {
            add(row, it.transfers.iter().map(|transfer| transfer.joins).collect());
        }
    }
    topics.into_values().collect()
}

/// How long moves, and what runs already, take at least when every broker sends and receives at most `rate` bytes per
/// second for them: the busiest broker's bytes over the rate. Nothing, for a rate of 0, which is no throttle.
pub fn shortest_time(snapshot: &Snapshot, moves: &[Move], rate: u64) -> Duration {
    let none = vec![0_u64; snapshot.brokers().len()];
    let (mut sent, mut received) = (none.clone(), none);
    for view in snapshot.views().filter(|view| view.in_flight()) {
        let adding: Vec<u16> = view.adding().collect();
        let each = view.to_copy() / (adding.len() as u64).max(1);
        for target in adding {
            received[usize::from(target)] += each;
            if let Some(source) = view.source() {
                sent[usize::from(source)] += each;
            }
        }
    }
    for it in moves {
        let source = snapshot.find(&it.topic, it.partition).and_then(|row| snapshot.view(row).source());
        for transfer in &it.transfers {
            if let Some(source) = source {
                sent[usize::from(source)] += transfer.bytes;
            }
            if let Some(target) = snapshot.index(transfer.joins) {
                received[usize::from(target)] += transfer.bytes;
            }
        }
    }
    let most = sent.into_iter().chain(received).max().unwrap_or(0);
    if rate == 0 { Duration::ZERO } else { Duration::from_secs(most.div_ceil(rate)) }
}

/// Bytes per second that a throttle must allow for the copies to `starting` and to what runs to end at all: while a
/// replica is copied it receives what is produced too. A fifth is added for it to come nearer.
pub fn least_rate(snapshot: &Snapshot, starting: &[&Move]) -> u64 {
    let mut received = vec![0.0_f64; snapshot.brokers().len()];
    let mut sent = received.clone();
    let mut add = |row: usize, target: u16| {
        let view = snapshot.view(row);
        received[usize::from(target)] += view.bytes_in();
        if let Some(source) = view.source() {
            sent[usize::from(source)] += view.bytes_in();
        }
    };
    for (row, view) in snapshot.views().enumerate() {
        view.adding().for_each(|target| add(row, target));
    }
    for it in starting {
        let Some(row) = snapshot.find(&it.topic, it.partition) else { continue };
        it.transfers
            .iter()
            .filter_map(|transfer| snapshot.index(transfer.joins))
            .for_each(|target| add(row, target));
    }
    let most = sent.into_iter().chain(received).fold(0.0, f64::max);
    whole(most * MARGIN).max(1)
}

/// How much faster than production a copy has to be.
const MARGIN: f64 = 1.2;
