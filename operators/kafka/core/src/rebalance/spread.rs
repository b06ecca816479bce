//! Gives new brokers their share: the fullest broker gives first, and nobody gets more than a share.

use std::{cmp::Ordering, collections::BinaryHeap};

use super::{
    emit::Found,
    flights::Flights,
    layout::Layout,
    leaders,
    load::{Load, Resource, whole},
    request::Request,
    snapshot::BrokerId,
    target::{self, Preference, Rule, improves, relief},
};

/// A broker that has more than its share.
#[derive(PartialEq)]
struct Donor {
    ratio: f64,
    broker: u16,
}

impl Eq for Donor {}

impl Ord for Donor {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ratio.total_cmp(&other.ratio).then(other.broker.cmp(&self.broker))
    }
}

impl PartialOrd for Donor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub(super) fn plan(
    layout: &mut Layout<'_>,
    flights: &Flights,
    request: &Request,
    onto: &[BrokerId],
) -> Found {
    let roster = layout.roster;
    let is_target = |broker: &u16| roster.is_target[usize::from(*broker)];
    let mut receivers: Vec<u16> =
        onto.iter().filter_map(|id| layout.snapshot.index(*id)).filter(is_target).collect();
    receivers.sort_unstable();
    receivers.dedup();
    let measure = measure(layout);
    let frozen = flights.frozen(layout.snapshot.len());
    let mut found = Found::default();
    if measure == Resource::Disk {
        let missing = |broker: &u16| layout.fair(*broker)[0] - layout.load(*broker)[0];
        found.lower_bound_bytes = receivers.iter().map(|broker| whole(missing(broker))).sum();
    }
    let mut queues = queues(layout, &frozen, &receivers);
    let donor = |layout: &Layout<'_>, broker| Donor { ratio: layout.ratio(broker, measure), broker };
    let mut donors: BinaryHeap<Donor> = (0..)
        .zip(&queues)
        .filter(|(_, queue)| !queue.is_empty())
        .map(|(broker, _)| donor(layout, broker))
        .collect();
    let (mut bytes, mut moves) = (0, 0);
    while let Some(Donor { ratio, broker }) = donors.pop() {
        let Some(row) = queues[usize::from(broker)].pop().filter(|_| ratio > 1.0) else { continue };
        if let Some((position, to)) = offer(layout, row, broker, measure, &receivers)
            && request.max_moves.is_none_or(|most| moves < most)
            && request.max_bytes.is_none_or(|most| bytes + layout.bytes(row, position) <= most)
        {
            bytes += layout.bytes(row, position);
            moves += 1;
            layout.replace(row, position, to);
        }
        donors.push(donor(layout, broker));
    }
    leaders::even(layout, &frozen, request.leaders_above, &leaders::DRIVERS);
    found
}

/// What shares are counted in: bytes, or replicas while no size is known.
fn measure(layout: &Layout<'_>) -> Resource {
    let sizes = layout.roster.targets.iter().any(|broker| layout.fair(*broker)[Resource::Disk.index()] > 0.0);
    if sizes { Resource::Disk } else { Resource::Replicas }
}

/// Partitions on each staying broker that is no receiver. They are in an order that has nothing to do with their
/// sizes, so that what a broker gives is like what it has: bytes, traffic and counts together.
fn queues(layout: &Layout<'_>, frozen: &[bool], receivers: &[u16]) -> Vec<Vec<usize>> {
    let mut queues = vec![Vec::new(); layout.loads().len()];
    for row in (0..frozen.len()).filter(|row| !frozen[*row] && layout.snapshot.view(*row).source().is_some())
    {
        for broker in layout.list(row) {
            let gives = layout.roster.staying[usize::from(*broker)] && !receivers.contains(broker);
            if gives {
                queues[usize::from(*broker)].push(row);
            }
        }
    }
    for (broker, queue) in (0..).zip(&mut queues) {
        queue.sort_by_cached_key(|row| layout.tie(*row, broker));
    }
    queues
}

/// Who takes the replica of a partition that a donor has, if that makes the cluster better and neither side passes
/// its share.
fn offer(
    layout: &Layout<'_>,
    row: usize,
    donor: u16,
    measure: Resource,
    receivers: &[u16],
) -> Option<(usize, u16)> {
    let index = measure.index();
    let position = layout.list(row).iter().position(|broker| *broker == donor)?;
    let cost = layout.cost(row, position);
    if layout.load(donor)[index] - cost[index] < layout.fair(donor)[index] {
        return None;
    }
    let wants =
        |broker: u16, cost: &Load| layout.load(broker)[index] + cost[index] <= layout.fair(broker)[index];
    let (broker, burden) =
        target::find(layout, (row, position), receivers, (Rule::Elective, Preference::Even), wants).ok()?;
    improves(relief(layout, donor, &cost), burden).then_some((position, broker))
}
