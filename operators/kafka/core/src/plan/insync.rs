//! What stopping a broker does to its partitions: how many replicas would be left in sync.

use std::fmt::Write as _;

use ballast_core::plan::Blocked;

use super::Context;
use crate::observed::{Node, Partition};

/// At most so many partitions are named.
const NAMED: usize = 5;

/// Partitions that would have fewer replicas in sync than they need, or than people want on top of that. One that can never be
/// safe ([`never_safe`]) does not hold anything up: its topic is not made for restarts.
pub(super) fn at_risk(context: &Context<'_>, partitions: &[Partition], node: &Node) -> Option<Blocked> {
    let (mut below, mut near) = (vec![], vec![]);
    for partition in partitions.iter().filter(|partition| partition.replicas.contains(&node.id)) {
        let left = partition.isr.iter().filter(|id| **id != node.id).count();
        match partition.min_isr {
            // How many it needs is not known: all are needed.
            None if left < partition.replicas.len() => below.push(partition),
            Some(least) if partition.replicas.len() > least => {
                if left < least {
                    below.push(partition);
                } else if left
                    < least.max((least + context.desired.isr_headroom).min(most(context, partition)))
                {
                    near.push(partition);
                }
            }
            _ => {}
        }
    }
    let name = &node.name;
    if let Some(names) = named(&below) {
        let message = format!("without {name} too few replicas would be in sync of {names}");
        return Some(Blocked::new("partitions-stay-available", "PartitionsAtRisk", message));
    }
    let message = format!(
        "without {name} fewer replicas would be in sync than min.insync.replicas and spec.rolling.isrHeadroom, {}, ask for, of {}",
        context.desired.isr_headroom,
        named(&near)?
    );
    Some(Blocked::new("partitions-keep-headroom", "NoIsrHeadroom", message))
}

/// How many replicas of a partition can be in sync while one of them is stopped: those that are only being copied are no more than a
/// promise.
fn most(context: &Context<'_>, partition: &Partition) -> usize {
    let moving = context.observed.answers.moving.as_ref();
    let flight =
        moving.and_then(|moving| moving.reassignments.get(&(partition.topic.clone(), partition.index)));
    let copied = |id: &&i32| flight.is_some_and(|flight| flight.adding.contains(id));
    partition.replicas.iter().filter(|id| !copied(id)).count().saturating_sub(1)
}

/// Partitions of a node that take no records that need acknowledgement while it is stopped, whatever the operator waits for: they have no more
/// replicas than they need in sync.
pub(super) fn never_safe(context: &Context<'_>, node: &Node) -> Option<String> {
    let partitions = context.observed.answers.partitions.iter().flatten();
    let unsafe_ones: Vec<&Partition> = partitions
        .filter(|partition| partition.replicas.contains(&node.id))
        .filter(|partition| partition.min_isr.is_some_and(|least| partition.replicas.len() <= least))
        .collect();
    let names = named(&unsafe_ones)?;
    Some(format!("{names} have no more replicas than must be in sync, so they cannot be kept available"))
}

fn named(partitions: &[&Partition]) -> Option<String> {
    let first = partitions.first()?;
    let mut names = format!("{}-{}", first.topic, first.index);
    for partition in partitions.iter().skip(1).take(NAMED - 1) {
        let _ = write!(names, ", {}-{}", partition.topic, partition.index);
    }
    if partitions.len() > NAMED {
        let _ = write!(names, " and {} more", partitions.len() - NAMED);
    }
    Some(names)
}
