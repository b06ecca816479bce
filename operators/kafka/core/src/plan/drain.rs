//! Nodes that leave: their replicas are moved, their votes given back, and only what is empty is stopped and forgotten.
//!
//! Nothing of it is remembered but which brokers leave ([`crate::api::RebalanceStatus`], written before anything is done): each
//! pass finds out anew where it stands. A node that is wanted again keeps what it still has.

use ballast_core::plan::Blocked;

use super::{
    Context, Next,
    batch::{self, Batch},
    removal, throttle,
};
use crate::{
    api::Purpose,
    intent::{Intent, named},
    moving::{CORDONS, Moving},
    observed::Node,
    rebalance::outcome::Role,
    relocation::Relocation,
};

/// At most so many topics or partitions are named.
const NAMED: usize = 5;

/// What a drain answers.
pub(super) enum Answer {
    /// As any concern.
    Next(Next),
    /// It is held up and nothing of it is under way, so that something else may be done meanwhile.
    Held(Blocked),
}

fn held(predicate: &'static str, reason: &'static str, message: String) -> Answer {
    Answer::Held(Blocked::new(predicate, reason, message))
}

/// What the drain needs next.
pub(super) fn next(context: &Context<'_>) -> Answer {
    let observed = context.observed;
    let drain = match &observed.relocation {
        None => return Answer::Next(Next::Nothing),
        Some(Err(unknown)) => {
            return held(
                "replicas-known",
                "ReplicasUnknown",
                format!(
                    "replicas are moved, and nodes leave, only when it is known what is where: {unknown}"
                ),
            );
        }
        Some(Ok(drain)) => drain,
    };
    let Some(moving) = &observed.answers.moving else { return Answer::Next(Next::Nothing) };
    if drain.purpose != Purpose::Drain {
        return Answer::Next(Next::Nothing);
    }
    let leaving = observed.nodes.iter().any(Node::leaves) || !drain.leaving.is_empty();
    if let Some(intent) = release(context, drain, moving) {
        return Answer::Next(Next::Do(intent));
    }
    if !leaving {
        return Answer::Next(throttle::mend(context, drain, moving).map_or(Next::Nothing, Next::Do));
    }
    let announced = observed.rebalance.as_ref().filter(|status| status.purpose == Purpose::Drain);
    let announced = announced.map(|status| status.brokers.as_slice()).unwrap_or_default();
    if !drain.leaving.iter().all(|id| announced.contains(id)) {
        let message = format!("{} will be emptied", named(&drain.leaving));
        return Answer::Next(Next::busy("drain-announced", "DrainBegins", message));
    }
    if let Some(next) = removal::next(context, drain) {
        return Answer::Next(next);
    }
    if drain.leaving.is_empty() {
        return Answer::Next(Next::Nothing);
    }
    empty(context, drain, moving)
}

/// Moves what the leaving brokers have.
fn empty(context: &Context<'_>, drain: &Relocation, moving: &Moving) -> Answer {
    let infeasible = &drain.plan.infeasible;
    if !infeasible.is_empty() {
        // What runs ends by itself, nothing more is begun.
        let message = listed(infeasible.iter().map(|topic| topic.message.clone()));
        let held = Blocked::new("topics-fit", "DrainInfeasible", message);
        return if drain.in_flight() == 0 {
            Answer::Held(held)
        } else {
            Answer::Next(Next::Wait(vec![held]))
        };
    }
    if let Some(intent) = cordon(context, drain, moving) {
        return Answer::Next(Next::Do(intent));
    }
    let batch = Batch::of(context, drain);
    let sent = batch.send(context, drain, moving, format!("emptying {}", named(&drain.leaving)));
    if let Some(intent) = sent.or_else(|| throttle::mend(context, drain, moving)) {
        return Answer::Next(Next::Do(intent));
    }
    if let Some(next) = batch::under_way(drain, &format!("{} being emptied", named(&drain.leaving))) {
        return Answer::Next(next);
    }
    if !drain.has_to_empty() {
        // Those that are not removed stay empty until nobody asks for that any more.
        return Answer::Next(Next::Nothing);
    }
    if !drain.plan.blocked.is_empty() {
        let told = drain.plan.blocked.iter().map(ToString::to_string);
        return held("replicas-have-a-place", "DrainBlocked", listed(told));
    }
    if batch.behind > 0 {
        let message = format!(
            "{} partitions have replicas that are behind: they are moved when those have caught up",
            batch.behind
        );
        return held("replicas-in-sync", "ReplicasBehind", message);
    }
    Answer::Next(Next::busy(
        "leaving-nodes-empty",
        "ReplicasVanish",
        format!("{} still have replicas on their disks that are being deleted", named(&drain.leaving)),
    ))
}

/// What is left of a drain that is no longer wanted, or is done: moves that no longer serve are cancelled, cordons lifted.
fn release(context: &Context<'_>, drain: &Relocation, moving: &Moving) -> Option<Intent> {
    let obsolete = drain.plan.in_flight.iter().filter(|flight| flight.role == Role::Obsolete);
    let partitions: Vec<(String, i32)> =
        obsolete.map(|flight| (flight.topic.to_string(), flight.partition)).collect();
    if !partitions.is_empty() {
        let why = "the broker that they would empty stays".to_owned();
        return Some(Intent::CancelMoves { partitions, why });
    }
    if let Some(intent) = give_up(drain) {
        return Some(intent);
    }
    let wanted = |id: &&i32| context.observed.node(**id).is_some_and(|node| node.wanted);
    let kept: Vec<i32> =
        drain.kept.iter().filter(wanted).filter(|id| moving.cordoned.contains(id)).copied().collect();
    (!kept.is_empty()).then_some(Intent::Uncordon { brokers: kept })
}

/// Moves that make no progress are cancelled. They are planned anew when that is seen: where they went is then avoided.
fn give_up(drain: &Relocation) -> Option<Intent> {
    let stalled = drain.plan.in_flight.iter().filter(|flight| flight.role == Role::Stalled);
    let partitions: Vec<(String, i32)> =
        stalled.map(|flight| (flight.topic.to_string(), flight.partition)).collect();
    let mut brokers: Vec<i32> =
        drain.stuck.iter().filter(|copy| partitions.contains(&copy.name)).map(|copy| copy.broker).collect();
    brokers.sort_unstable();
    brokers.dedup();
    let why = format!("no byte gets to {}; they are planned anew", named(&brokers));
    (!partitions.is_empty()).then_some(Intent::CancelMoves { partitions, why })
}

/// Brokers that leave get nothing new, where Kafka knows how (KIP-1066); elsewhere the look after the stop is what is safe.
fn cordon(context: &Context<'_>, drain: &Relocation, moving: &Moving) -> Option<Intent> {
    if context.observed.answers.metadata_level.is_none_or(|level| level < CORDONS) {
        return None;
    }
    let serves = |id: &&i32| moving.disks.contains_key(id) && !moving.cordoned.contains(id);
    let brokers: Vec<i32> = drain.leaving.iter().filter(serves).copied().collect();
    (!brokers.is_empty()).then_some(Intent::Cordon { brokers })
}

/// Whether nothing of a drain is left in Kafka, so that the status need not remember it.
pub(super) fn is_over(context: &Context<'_>) -> bool {
    let observed = context.observed;
    let (Some(Ok(drain)), Some(moving)) = (&observed.relocation, &observed.answers.moving) else {
        return false;
    };
    !observed.nodes.iter().any(Node::leaves)
        && drain.leaving.is_empty()
        && (drain.purpose == Purpose::Drain || drain.is_done())
        && release(context, drain, moving).is_none()
        && throttle::mend(context, drain, moving).is_none()
}

pub(super) fn listed(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    let more = all.len().saturating_sub(NAMED);
    let first = all[..all.len() - more].join("; ");
    if more == 0 { first } else { format!("{first}; and {more} more") }
}
