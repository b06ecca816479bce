//! What no plan can better: bytes that have to move, and partitions that are too much for any broker.

use super::super::{
    layout::Layout,
    load::{Resource, real, whole},
    outcome::Unfixable,
    request::Request,
};

/// Resources that leave a broker only with a replica.
pub(super) const TIED: [Resource; 3] = [Resource::Disk, Resource::NetworkIn, Resource::Replicas];

/// Bytes that have to be copied for every staying broker to come down to the limit.
///
/// A broker must lose replicas that carry its excess together. The fewest bytes for that are those of a fractional
/// knapsack, the densest replicas first (Dantzig 1957); of several resources, the one that needs most. A replica is on
/// one broker, so brokers add up.
pub(super) fn bytes(layout: &Layout<'_>, limit: f64, drivers: &[Resource]) -> u64 {
    let mut most = vec![0.0_f64; layout.loads().len()];
    for resource in TIED.into_iter().filter(|resource| drivers.contains(resource)) {
        let crowded = |broker: u16| {
            layout.roster.staying[usize::from(broker)] && layout.helpable(broker, resource) > limit
        };
        let mut held: Vec<(u16, f64, f64)> = Vec::new();
        for row in 0..layout.snapshot.len() {
            for (position, broker) in
                layout.list(row).iter().enumerate().filter(|(_, broker)| crowded(**broker))
            {
                let amount = layout.cost(row, position)[resource.index()];
                held.push((*broker, amount, real(layout.bytes(row, position))));
            }
        }
        held.sort_by(|one, other| one.0.cmp(&other.0).then(density(other).total_cmp(&density(one))));
        for replicas in held.chunk_by(|one, other| one.0 == other.0) {
            let broker = replicas[0].0;
            let index = resource.index();
            let excess = layout.load(broker)[index] - limit * layout.fair(broker)[index];
            let needed = &mut most[usize::from(broker)];
            *needed = needed.max(knapsack(replicas, excess));
        }
    }
    // Sums of rates are not exact; a bound must not be above what is possible.
    whole(most.iter().sum::<f64>() * (1.0 - 1e-9) - 1.0)
}

fn density((_, amount, bytes): &(u16, f64, f64)) -> f64 {
    amount / bytes.max(1e-3)
}

fn knapsack(densest_first: &[(u16, f64, f64)], mut excess: f64) -> f64 {
    let mut total = 0.0;
    for (_, amount, bytes) in densest_first {
        if *amount >= excess {
            return total + bytes * excess / amount;
        }
        excess -= amount;
        total += bytes;
    }
    total
}

/// The largest share that a staying broker has of a resource.
pub(super) fn largest_share(layout: &Layout<'_>, resource: Resource) -> f64 {
    layout.roster.targets.iter().map(|broker| layout.fair(*broker)[resource.index()]).fold(0.0, f64::max)
}

/// Partitions that bring any broker above the limit alone, and how many partitions their topics need.
pub(super) fn unfixable(layout: &Layout<'_>, request: &Request) -> Vec<Unfixable> {
    if !layout.snapshot.has_rates() || layout.roster.targets.is_empty() {
        return Vec::new();
    }
    let mut partitions = vec![0_usize; layout.snapshot.topics().len()];
    for view in layout.snapshot.views() {
        partitions[view.topic_index()] += 1;
    }
    let shares = [Resource::NetworkIn, Resource::NetworkOut]
        .map(|resource| (resource, largest_share(layout, resource)));
    let mut unfixable = Vec::new();
    for (row, view) in layout.snapshot.views().enumerate() {
        let cost = layout.cost(row, 0);
        let worst = shares
            .iter()
            .filter(|(_, share)| *share > 0.0)
            .map(|(resource, share)| (cost[resource.index()] / share, *resource, *share))
            .max_by(|one, other| one.0.total_cmp(&other.0));
        let Some((_, resource, share)) = worst.filter(|(ratio, ..)| *ratio > request.stop) else { continue };
        let rate = cost[resource.index()];
        let count = partitions[view.topic_index()];
        let needed = usize::try_from(whole(real(count as u64) * rate / (request.partition_above * share)))
            .unwrap_or(usize::MAX);
        let verb = if resource == Resource::NetworkIn { "receives" } else { "sends" };
        unfixable.push(Unfixable {
            topic: view.topic().clone(),
            partition: view.number(),
            resource,
            rate,
            share,
            partitions: count,
            needed,
            message: format!(
                "{}-{} alone {verb} {rate:.0} bytes per second, and a broker's share of everything is {share:.0}: no \
                 move helps; give the topic {needed} partitions (it has {count}), or spread its keys",
                view.topic(),
                view.number()
            ),
        });
    }
    unfixable
}
