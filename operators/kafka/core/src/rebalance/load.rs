//! What a replica costs its broker.

use serde::Serialize;

use super::snapshot::View;

/// What brokers have too much or too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Resource {
    /// Bytes on disk.
    Disk,
    /// Bytes per second that come in: every replica receives what is produced.
    NetworkIn,
    /// Bytes per second that go out: the leader serves consumers and the other replicas.
    NetworkOut,
    /// Partitions that it leads.
    Leaders,
    /// Replicas that it has.
    Replicas,
}

/// How many resources there are.
pub(super) const RESOURCES: usize = 5;

/// An amount of each resource, by [`Resource::index`].
pub(super) type Load = [f64; RESOURCES];

impl Resource {
    /// All, in the order of their indices.
    pub const ALL: [Self; RESOURCES] =
        [Self::Disk, Self::NetworkIn, Self::NetworkOut, Self::Leaders, Self::Replicas];

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

/// What the replica at a position costs, of a partition with this many replicas. Reads are counted for the leader:
/// where followers serve consumers, brokers are more even than they seem here.
pub(super) fn replica(partition: View<'_>, position: usize, bytes: u64) -> Load {
    let followers = real(partition.factor() as u64) - 1.0;
    if position == 0 {
        let out = partition.bytes_out() + followers * partition.bytes_in();
        [real(bytes), partition.bytes_in(), out, 1.0, 1.0]
    } else {
        [real(bytes), partition.bytes_in(), 0.0, 0.0, 1.0]
    }
}

/// What moves with the leadership alone.
pub(super) fn leadership(partition: View<'_>) -> Load {
    let mut load = replica(partition, 0, 0);
    load[Resource::NetworkIn.index()] = 0.0;
    load[Resource::Replicas.index()] = 0.0;
    load
}

pub(super) fn plus(mut left: Load, right: &Load) -> Load {
    for (left, right) in left.iter_mut().zip(right) {
        *left += right;
    }
    left
}

pub(super) fn minus(mut left: Load, right: &Load) -> Load {
    for (left, right) in left.iter_mut().zip(right) {
        *left -= right;
    }
    left
}

/// Bytes and counts as a number to weigh with; exact up to 9 PB.
#[expect(clippy::cast_precision_loss, reason = "weights need no more than 53 bits")]
pub(super) const fn real(whole: u64) -> f64 {
    whole as f64
}

/// A weight as bytes or a count again: never negative, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
pub(super) fn whole(real: f64) -> u64 {
    real.max(0.0).ceil() as u64
}
