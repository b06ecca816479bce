//! Whether copies get on: how long the bytes of each new replica have been the same, from look to look.
//!
//! This is kept in memory only. After a restart of the operator no copy is known to stand still, and its time begins anew. What the status keeps
//! is where a copy made no progress ([`AvoidedBroker`]), before anything is done about it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use ballast_core::condition;
use jiff::Timestamp;

use crate::{
    api::{AvoidedBroker, Purpose},
    moving::Name,
    observed::{Answers, Partition},
    rebalance::outcome::{Plan, Role},
};

/// A copy without a new byte for so long makes no progress.
pub const NO_PROGRESS: Duration = Duration::from_mins(10);
/// How long a broker to which a copy made no progress gets nothing, if there is another.
pub const AVOIDED: Duration = Duration::from_mins(30);
/// The time between two looks counts at most so much: what was in between, nobody has seen.
const BETWEEN: Duration = Duration::from_mins(1);

/// How long copies are known to stand still, by partition and broker that gets the replica. What is not known, or cannot get on, is not in it.
pub type Still = BTreeMap<(Name, i32), Duration>;

/// What is remembered of a cluster's copies.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// When all was last known.
    looked: Option<Duration>,
    /// Bytes, and for how long there have been so many.
    copies: BTreeMap<(Name, i32), (u64, Duration)>,
}

impl Progress {
    /// Takes note of what Kafka said at a moment, counted from any other that stays the same.
    pub fn look(&mut self, at: Duration, answers: &Answers) -> Still {
        let (Some(moving), Some(partitions)) = (&answers.moving, &answers.partitions) else {
            self.looked = None;
            return Still::new();
        };
        let more =
            self.looked.replace(at).map_or(Duration::ZERO, |then| at.saturating_sub(then).min(BETWEEN));
        let before = std::mem::take(&mut self.copies);
        let running = partitions.iter().filter_map(|partition| {
            let name = (partition.topic.clone(), partition.index);
            // Without a leader nothing can be copied, wherever it goes.
            let flight = moving.reassignments.get(&name).filter(|_| !is_offline(partition, answers))?;
            Some((name, flight))
        });
        for (name, flight) in running {
            for broker in &flight.adding {
                let Some(disks) = moving.disks.get(broker) else { continue };
                let bytes = disks.replicas.get(&name).copied().unwrap_or(0);
                let copy = (name.clone(), *broker);
                let still = before.get(&copy).filter(|(had, _)| *had == bytes);
                let still = still.map_or(Duration::ZERO, |(_, still)| *still + more);
                self.copies.insert(copy, (bytes, still));
            }
        }
        self.copies.iter().map(|(copy, (_, still))| (copy.clone(), *still)).collect()
    }
}

/// Whether a broker is known to be in service.
fn serves(id: i32, answers: &Answers) -> bool {
    answers.brokers.iter().flatten().any(|broker| broker.id == id && !broker.fenced)
}

fn is_offline(partition: &Partition, answers: &Answers) -> bool {
    partition.leader.is_none_or(|leader| !serves(leader, answers))
}

/// Why a copy does not get on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nobody leads the partition: there is nothing to copy from.
    LeaderOffline,
    /// The broker that gets the replica is not in service.
    TargetAway,
    /// It could, and has not for [`NO_PROGRESS`].
    NoProgress,
}

/// A copy that does not get on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The partition.
    pub name: Name,
    /// The broker that gets a replica.
    pub broker: i32,
    /// Whether it is the operator's to cancel.
    pub ours: bool,
    /// Why.
    pub why: Why,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name: (topic, partition), broker, .. } = self;
        write!(f, "{topic}-{partition} to broker {broker}: ")?;
        match (self.why, self.ours) {
            (Why::LeaderOffline, _) => {
                f.write_str("the partition has no leader, so nothing is copied: bring its brokers back")
            }
            (Why::TargetAway, _) => f.write_str("this broker is not in service: bring it back"),
            (Why::NoProgress, true) => write!(
                f,
                "no byte was copied for {} minutes: it is cancelled, and goes to another broker if one can have it",
                NO_PROGRESS.as_secs() / 60
            ),
            (Why::NoProgress, false) => write!(
                f,
                "no byte was copied for {} minutes: see whether this broker and the leader are well; the operator \
                 does not cancel it, since others may have begun it: kafka-reassign-partitions.sh --cancel does",
                NO_PROGRESS.as_secs() / 60
            ),
        }
    }
}

/// Copies that run and do not get on, by partition.
pub(crate) fn stuck(purpose: Purpose, plan: &Plan, answers: &Answers) -> Vec<Stuck> {
    let partitions = answers.partitions.iter().flatten();
    let offline: BTreeSet<(&str, i32)> = partitions
        .filter(|partition| is_offline(partition, answers))
        .map(|partition| (partition.topic.as_str(), partition.index))
        .collect();
    let mut stuck = vec![];
    for flight in &plan.in_flight {
        let name = (flight.topic.to_string(), flight.partition);
        // Who began a move that only makes a cluster more even is not known.
        let ours = purpose == Purpose::Drain && flight.role != Role::Foreign;
        for broker in &flight.adding {
            let still = answers.still.get(&(name.clone(), *broker));
            let why = if offline.contains(&(flight.topic.as_str(), flight.partition)) {
                Why::LeaderOffline
            } else if answers.brokers.is_some() && !serves(*broker, answers) {
                Why::TargetAway
            } else if still.is_some_and(|still| *still >= NO_PROGRESS) {
                Why::NoProgress
            } else {
                continue;
            };
            stuck.push(Stuck { name: name.clone(), broker: *broker, ours, why });
        }
    }
    stuck
}

/// Partitions whose copies are to be cancelled: they make no progress, and it is written down where.
pub(crate) fn given_up(avoided: &[i32], answers: &Answers) -> BTreeSet<Name> {
    let copies = answers.still.iter();
    let given_up = copies.filter(|((_, broker), still)| **still >= NO_PROGRESS && avoided.contains(broker));
    given_up.map(|((name, _), _)| name.clone()).collect()
}

/// Brokers that get nothing for now: those that did not yet, and those to which a copy of ours makes no progress.
pub(crate) fn avoided(before: &[AvoidedBroker], stuck: &[Stuck], now: Timestamp) -> Vec<AvoidedBroker> {
    let lasts = |avoided: &&AvoidedBroker| avoided.until.parse::<Timestamp>().is_ok_and(|until| until > now);
    let mut all: Vec<AvoidedBroker> = before.iter().filter(lasts).cloned().collect();
    for copy in stuck.iter().filter(|copy| copy.ours && copy.why == Why::NoProgress) {
        if !all.iter().any(|avoided| avoided.broker == copy.broker) {
            let until = now.checked_add(AVOIDED).unwrap_or(now);
            all.push(AvoidedBroker { broker: copy.broker, until: condition::rfc3339(until) });
        }
    }
    all.sort_by_key(|avoided| avoided.broker);
    all
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
