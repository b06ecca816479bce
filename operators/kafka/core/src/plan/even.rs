//! New brokers get their share, and people may ask for all of them to get theirs: only while nothing else is to be done, and every
//! partition has all its replicas in sync.

use super::{
    Context, Next,
    batch::{self, Batch},
    drain::listed,
    throttle,
};
use crate::{api::Purpose, intent::named, observed::Partition, relocation::Relocation};

/// What it needs next.
pub(super) fn next(context: &Context<'_>) -> Next {
    let observed = context.observed;
    let Some(Ok(relocation)) =
        observed.relocation.as_ref().filter(|it| it.as_ref().is_ok_and(is_for_evenness))
    else {
        return Next::Nothing;
    };
    let Some(moving) = &observed.answers.moving else { return Next::Nothing };
    if relocation.is_done() {
        return throttle::mend(context, relocation, moving).map_or(Next::Nothing, Next::Do);
    }
    let announced = observed.rebalance.as_ref().is_some_and(|status| {
        let named = relocation.kept.iter().all(|id| status.brokers.contains(id));
        status.purpose == relocation.purpose && named
    });
    if !announced {
        let message = format!("{} begins", what(relocation));
        return Next::busy("rebalance-announced", "RebalanceBegins", message);
    }
    let behind =
        observed.answers.partitions.iter().flatten().filter(|partition| is_behind(partition, context));
    let behind: Vec<String> =
        behind.map(|partition| format!("{}-{}", partition.topic, partition.index)).collect();
    let what = what(relocation);
    let batch = Batch::of(context, relocation);
    let sent = if behind.is_empty() { batch.send(context, relocation, moving, what.clone()) } else { None };
    if let Some(intent) = sent.or_else(|| throttle::mend(context, relocation, moving)) {
        return Next::Do(intent);
    }
    batch::under_way(relocation, &what).unwrap_or_else(|| {
        let message = format!("{what} waits for replicas to be in sync: {}", listed(behind.into_iter()));
        Next::wait("replicas-in-sync", "ReplicasBehind", message)
    })
}

fn is_for_evenness(relocation: &Relocation) -> bool {
    relocation.purpose != Purpose::Drain
}

fn what(relocation: &Relocation) -> String {
    match relocation.purpose {
        Purpose::Spread => format!("giving {} a share", named(&relocation.kept)),
        Purpose::HotPartitions => "relieving brokers that have too much traffic".to_owned(),
        Purpose::Drain | Purpose::Full => "making brokers even".to_owned(),
    }
}

/// Whether a partition has a replica that is behind, and is not being copied.
fn is_behind(partition: &Partition, context: &Context<'_>) -> bool {
    let moving = context.observed.answers.moving.as_ref();
    let flight =
        moving.and_then(|moving| moving.reassignments.get(&(partition.topic.clone(), partition.index)));
    let copied = |id: &i32| flight.is_some_and(|flight| flight.adding.contains(id));
    partition.replicas.iter().any(|id| !partition.isr.contains(id) && !copied(id))
}
