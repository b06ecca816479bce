//! What is wanted of a plan.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::snapshot::{BrokerId, Snapshot};

/// Why a plan is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Goal {
    /// Empty these brokers, and those that the snapshot calls draining, in one batch.
    Drain {
        /// Brokers besides those that the snapshot calls draining.
        brokers: Vec<BrokerId>,
    },
    /// Give these brokers, which are new, their share.
    Spread {
        /// The brokers that have too little.
        onto: Vec<BrokerId>,
    },
    /// Relieve brokers whose network has too much to do. Needs rates.
    HotPartitions,
    /// Relieve brokers that have too much of anything: disk, network, leaders, replicas.
    Full,
}

/// A goal, and how far to go for it. Ratios compare with a broker's fair share: 1.1 is a tenth above it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Why.
    pub goal: Goal,
    /// Brokers that get nothing although they could, such as one on which a copy made no progress. A drain takes them where there is no other.
    pub avoid: Vec<BrokerId>,
    /// Topic and number of partitions whose reassignment makes no progress: what serves a drain may be cancelled.
    pub stalled: BTreeSet<(String, i32)>,
    /// Brokers that were being drained for an intent that is gone: reassignments away from them may be cancelled.
    pub kept: Vec<BrokerId>,
    /// Part of a broker's disk that may be full after a plan.
    pub disk_high_water: f64,
    /// Drain and spread: leaders are moved from brokers above this ratio, down to it.
    pub leaders_above: f64,
    /// Hot and full: nothing is done while every broker is below this ratio, below [`Self::capacity_above`] of its
    /// network, and no partition is above [`Self::partition_trigger`].
    pub trigger: f64,
    /// Hot and full: where to stop.
    pub stop: f64,
    /// Hot: part of a broker's given network capacity that is too much whatever others have.
    pub capacity_above: f64,
    /// Hot: part of a broker's fair share of a network resource above which one partition is hot.
    pub partition_above: f64,
    /// Hot: part of the same share above which one partition is reason to begin, however little brokers have. Where brokers have few
    /// partitions, nearly all are.
    pub partition_trigger: f64,
    /// Hot, full and spread: bytes that may be copied.
    pub max_bytes: Option<u64>,
    /// Hot, full and spread: replicas that may be copied.
    pub max_moves: Option<usize>,
}

impl Request {
    /// A request with the usual limits.
    pub fn new(goal: Goal) -> Self {
        Self {
            goal,
            avoid: Vec::new(),
            stalled: BTreeSet::new(),
            kept: Vec::new(),
            disk_high_water: 0.85,
            leaders_above: 1.10,
            trigger: 1.25,
            stop: 1.10,
            capacity_above: 0.8,
            partition_above: 0.5,
            partition_trigger: 0.5,
            max_bytes: None,
            max_moves: None,
        }
    }

    /// Empty `brokers`.
    pub fn drain(brokers: &[BrokerId]) -> Self {
        Self::new(Goal::Drain { brokers: brokers.to_vec() })
    }

    /// Give `brokers` their share.
    pub fn spread(brokers: &[BrokerId]) -> Self {
        Self::new(Goal::Spread { onto: brokers.to_vec() })
    }

    /// Brokers that the goal itself names.
    fn named(&self) -> &[BrokerId] {
        match &self.goal {
            Goal::Drain { brokers } => brokers,
            Goal::Spread { onto } => onto,
            Goal::HotPartitions | Goal::Full => &[],
        }
    }

    pub(super) fn check(&self, snapshot: &Snapshot) -> Result<(), RequestError> {
        for id in self.named() {
            if snapshot.index(*id).is_none() {
                let known = snapshot.brokers().iter().map(|broker| broker.id.to_string());
                let known = known.take(20).collect::<Vec<_>>().join(", ");
                return Err(RequestError::UnknownBroker { id: *id, known });
            }
        }
        if let Goal::Spread { onto } = &self.goal {
            for id in onto {
                let index = snapshot.index(*id).map(usize::from);
                let broker = index.map(|index| &snapshot.brokers()[index]);
                if broker.is_some_and(|broker| broker.draining || broker.cordoned || broker.dead) {
                    return Err(RequestError::TakesNothing { id: *id });
                }
            }
        }
        if self.goal == Goal::HotPartitions && !snapshot.has_rates() {
            return Err(RequestError::NoRates);
        }
        let limits = [
            ("diskHighWater", self.disk_high_water, 0.0..=1.0),
            ("leadersAbove", self.leaders_above, 1.0..=100.0),
            ("trigger", self.trigger, 1.0..=100.0),
            ("stop", self.stop, 1.0..=100.0),
            ("capacityAbove", self.capacity_above, 0.0..=1.0),
            ("partitionAbove", self.partition_above, 0.01..=100.0),
            ("partitionTrigger", self.partition_trigger, 0.01..=100.0),
        ];
        for (field, value, range) in limits {
            if !range.contains(&value) {
                let (least, most) = (*range.start(), *range.end());
                return Err(RequestError::OutOfRange { field, value, least, most });
            }
        }
        if self.stop > self.trigger {
            return Err(RequestError::StopAboveTrigger { stop: self.stop, trigger: self.trigger });
        }
        Ok(())
    }
}

/// Why a request makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RequestError {
    /// A broker that the snapshot does not have.
    #[error("broker {id} is not in the snapshot, which has {known}; name one of those")]
    UnknownBroker {
        /// The broker.
        id: BrokerId,
        /// Some of those that there are.
        known: String,
    },
    /// A broker that should get replicas, and cannot.
    #[error("broker {id} is draining, cordoned or dead, so nothing can be moved to it; leave it out")]
    TakesNothing {
        /// The broker.
        id: BrokerId,
    },
    /// Hot partitions cannot be found without rates.
    #[error("no partition has a rate; give `in` and `out` in bytes per second")]
    NoRates,
    /// A limit that no plan can keep.
    #[error("{field} is {value}; give a number from {least} to {most}")]
    OutOfRange {
        /// Which.
        field: &'static str,
        /// What it is.
        value: f64,
        /// The least that is allowed.
        least: f64,
        /// The most that is allowed.
        most: f64,
    },
    /// A plan would stop before it begins.
    #[error("stop ({stop}) is above trigger ({trigger}); give a stop that is not above the trigger")]
    StopAboveTrigger {
        /// Where to stop.
        stop: f64,
        /// Where to begin.
        trigger: f64,
    },
}
