//! Changes that go from node to node: one at a time, and only while no partition loses what it needs.
//!
//! Only the node whose turn it is carries the new template. A node that has it and does not serve stops everything.

use ballast_core::plan::Blocked;

use super::{Context, Next, insync, metadata, objects, state};
use crate::{
    intent::Intent,
    observed::{CAUGHT_UP, Node},
};

/// A node that certainly does not run gets the wanted template, whatever the others do: so mending or reverting a bad change
/// recovers a cluster that the change brought down.
pub(super) fn broken(context: &Context<'_>) -> Next {
    let node = context.observed.nodes.iter().find(|node| {
        let stuck = node.pod.as_ref().is_some_and(|pod| {
            let waits = !pod.running && pod.waiting.is_some() && (pod.scheduled || pod.unschedulable);
            waits && pod.deletion_due.is_none() && !pod.lost_data() && !pod.node_lost
        });
        stuck && runs(node) && context.outdated(node)
    });
    if metadata::unfit(context).is_some() {
        return Next::Nothing;
    }
    node.and_then(|node| update(context, node, "it does not run, and its template is not the wanted one"))
        .map_or(Next::Nothing, Next::Do)
}

/// The next node to get the wanted template: brokers before controllers, the active controller last.
pub(super) fn next(context: &Context<'_>) -> Next {
    let nodes = &context.observed.nodes;
    let Some(node) = nodes
        .iter()
        .filter(|node| runs(node) && context.outdated(node))
        .min_by_key(|node| (node.serves(), node.controller, node.leads, node.id))
    else {
        // The last one still answers for a moment after it was told to stop.
        if let Some(node) = nodes.iter().find(|node| node.wanted && node.stops()) {
            return Next::busy("pod-stopped", "PodStopping", format!("{}: its pod is stopping", node.name));
        }
        // Nothing is to be rolled out; a node that is away comes back by itself.
        return nodes.iter().find(|node| node.wanted && !node.serves()).map_or(Next::Nothing, |node| {
            Next::wait(
                "nodes-serve",
                "NodeNotServing",
                format!("{} does not serve: {}", node.name, state(node)),
            )
        });
    };
    if node.stops() {
        return Next::busy("pod-stopped", "PodStopping", format!("{}: its pod is stopping", node.name));
    }
    if let Some(blocked) = metadata::unfit(context) {
        return Next::Wait(vec![blocked]);
    }
    let blocked = before_restart(context, node);
    if !blocked.is_empty() {
        return Next::Wait(blocked);
    }
    let mut why = "its template is not the wanted one".to_owned();
    why.extend(insync::never_safe(context, node).map(|them| format!("; {them}")));
    update(context, node, &why).map_or(Next::Nothing, Next::Do)
}

/// Whether it is to have a pod.
fn runs(node: &Node) -> bool {
    node.stateful_set.as_ref().is_some_and(|set| !set.parked)
}

fn update(context: &Context<'_>, node: &Node, why: &str) -> Option<Intent> {
    Some(Intent::Update {
        node: node.name.clone(),
        pool: node.pool.clone(),
        place: objects::place(context, node)?,
        pod: node.pod.as_ref().filter(|pod| pod.deletion_due.is_none()).map(|pod| pod.uid.clone()),
        why: why.to_owned(),
    })
}

/// What must hold before this node is stopped.
fn before_restart(context: &Context<'_>, node: &Node) -> Vec<Blocked> {
    let observed = context.observed;
    let mut blocked = vec![];
    // Who leaves and holds replicas yet counts when it stops: two at a time never do.
    let away = |other: &&Node| other.wanted && !other.serves() || runs(other) && other.stops();
    if let Some(other) = observed.nodes.iter().filter(|other| other.id != node.id).find(away) {
        blocked.push(Blocked::new(
            "others-serve",
            "NodeNotServing",
            format!(
                "{} is restarted only while all others serve; {} does not: {}",
                node.name,
                other.name,
                state(other)
            ),
        ));
    }
    if node.controller && !quorum_without(context, node) {
        blocked.push(Blocked::new(
            "quorum-without-node",
            "QuorumAtRisk",
            format!("without {} too few controllers that have caught up would be left", node.name),
        ));
    }
    if node.broker {
        match &observed.answers.partitions {
            None => blocked.push(Blocked::new(
                "partitions-known",
                "PartitionsUnknown",
                "Kafka does not tell which replicas are in sync",
            )),
            Some(partitions) => blocked.extend(insync::at_risk(context, partitions, node)),
        }
    }
    blocked
}

/// Whether those who would be left are a majority that has caught up. A single controller is away for its restart, whatever
/// one does.
fn quorum_without(context: &Context<'_>, node: &Node) -> bool {
    let Some(quorum) = &context.observed.answers.quorum else { return false };
    if node.voter.is_none() || quorum.voters.len() == 1 {
        return true;
    }
    let left = quorum.voters.iter().filter(|voter| voter.id != node.id && quorum.caught_up(voter, CAUGHT_UP));
    left.count() > quorum.voters.len() / 2
}
