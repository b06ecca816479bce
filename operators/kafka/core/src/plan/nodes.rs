//! Which nodes there are: those that are missing are added, those that started lose their ticket, controllers get a vote.

use std::time::Duration;

use ballast_core::zone;

use super::{Context, Next, metadata, state};
use crate::{
    build::{self, Place},
    intent::Intent,
    observed::{CAUGHT_UP, Node, PodView},
};

/// How long a new node may run without being seen by the quorum.
const STUCK: Duration = Duration::from_mins(3);

/// Nothing is decided about nodes while nobody knows what the quorum is.
pub(super) fn quorum_known(context: &Context<'_>) -> Next {
    let answers = &context.observed.answers;
    if answers.quorum.is_some() && answers.brokers.is_some() {
        return Next::Nothing;
    }
    let silent: Vec<String> = context
        .observed
        .nodes
        .iter()
        .filter(|node| node.wanted && node.probe.is_err())
        .map(|node| format!("{} ({})", node.name, state(node)))
        .collect();
    Next::wait(
        "quorum-answers",
        "QuorumUnknown",
        format!(
            "no node tells what the quorum of the controllers is; waiting for {}; pods that are lost come back by themselves",
            if silent.is_empty() { "the first pod".to_owned() } else { silent.join(", ") }
        ),
    )
}

/// Who has started needs no ticket any more: it goes before anything makes the node count.
pub(super) fn tickets(context: &Context<'_>) -> Next {
    let holder = context.observed.nodes.iter().find(|node| node.ticket.is_some() && node.started());
    match holder.and_then(|node| Some((node, node.ticket.as_ref()?))) {
        Some((node, ticket)) => {
            Next::Do(Intent::RevokeTicket { node: node.name.clone(), ticket: ticket.reference.clone() })
        }
        None => Next::Nothing,
    }
}

/// Controllers that follow and have caught up get a vote (who has started has no ticket any more: [`tickets`] comes first), one at a time, while the quorum serves.
pub(super) fn voters(context: &Context<'_>) -> Next {
    let seen = context.observed;
    let Some(quorum) = &seen.answers.quorum else { return Next::Nothing };
    let candidate = seen
        .nodes
        .iter()
        .find(|node| node.wanted && node.controller && node.voter.is_none() && node.started());
    let Some((node, observer)) = candidate.and_then(|node| Some((node, node.observer.as_ref()?))) else {
        return Next::Nothing;
    };
    if seen.quorum_serves() != Some(true) {
        return Next::wait(
            "quorum-serves",
            "QuorumAtRisk",
            format!("{} becomes a voter only while most voters follow their leader", node.name),
        );
    }
    if !quorum.caught_up(observer, CAUGHT_UP) {
        return Next::busy(
            "controller-caught-up",
            "ControllerCatchingUp",
            format!("{} is catching up", node.name),
        );
    }
    Next::Do(Intent::AddVoter { node: node.name.clone(), id: node.id, directory: observer.directory.clone() })
}

/// Nodes of which nobody can tell whose they are, and nodes that the operator did not add, are never touched.
pub(super) fn strangers(context: &Context<'_>) -> Next {
    let observed = context.observed;
    if !observed.strangers.is_empty() {
        return Next::wait(
            "pools-keep-their-ids",
            "PoolReplaced",
            format!(
                "{} belong to a pool that the specification no longer has, or has with other ids, and another pool has its name or its ids \
                 now: put it back, and give the other pool a name and a nodeIds.start that no pool had",
                observed.strangers.join(", ")
            ),
        );
    }
    if !observed.foreign.is_empty() {
        let ids: Vec<String> = observed.foreign.iter().map(ToString::to_string).collect();
        return Next::wait(
            "no-foreign-nodes",
            "ForeignNode",
            format!(
                "Kafka knows nodes that this operator did not add: {}; unregister or remove them",
                ids.join(", ")
            ),
        );
    }
    Next::Nothing
}

/// Nodes that are wanted and were never there, all at once: each starts on an empty volume of its own and holds nothing.
pub(super) fn missing(context: &Context<'_>) -> Next {
    let Context { desired, observed, .. } = context;
    // Who is known to Kafka and has no volume is lost, not new.
    let new = |node: &&Node| node.registered.is_none() && node.voter.is_none();
    let wanted = observed.nodes.iter().filter(|node| node.wanted && node.stateful_set.is_none());
    let missing: Vec<&Node> = wanted.filter(new).collect();
    if missing.is_empty() {
        return Next::Nothing;
    }
    if let Some(blocked) = metadata::unfit(context) {
        return Next::Wait(vec![blocked]);
    }
    let mut zones: Vec<Option<String>> = vec![];
    let mut places = vec![];
    for node in missing {
        let began = node.live_claims().next();
        let zone = match began {
            Some(claim) => claim.zone.clone(),
            None => zone_for(context, &zones),
        };
        zones.push(zone.clone());
        let claim = began.map_or_else(
            || build::claim_name(desired, &node.name, node.next_attempt()),
            |claim| claim.reference.name.clone(),
        );
        places.push((node.pool.clone(), Place { id: node.id, claim, zone }));
    }
    let why = format!("{} nodes are wanted", desired.nodes().count());
    Next::Do(Intent::AddNodes { places, why })
}

/// New nodes are waited for before anything else is changed.
pub(super) fn starting(context: &Context<'_>) -> Next {
    // One that is not wanted any more does not have to start first.
    let begins = |node: &&Node| node.ticket.is_some() && node.wanted;
    let Some(node) = context.observed.nodes.iter().find(begins) else {
        return Next::Nothing;
    };
    if let Some(pod) = node.pod.as_ref().filter(|pod| pod.lost_data() && pod.deletion_due.is_none()) {
        return Next::Do(Intent::Restart {
            node: node.name.clone(),
            pod: pod.uid.clone(),
            why: "formatting its volume was cut short".to_owned(),
        });
    }
    if let Some(pod) = node.pod.as_ref().filter(|_| node.has_old_claim()) {
        return Next::Do(Intent::Restart {
            node: node.name.clone(),
            pod: pod.uid.clone(),
            why: "its pod uses the volume that it had before".to_owned(),
        });
    }
    if let Some(pod) = node.pod.as_ref().filter(|pod| is_stuck(context, node, pod)) {
        return Next::Do(Intent::Restart {
            node: node.name.clone(),
            pod: pod.uid.clone(),
            why: format!("it runs, and has not followed the quorum for {} minutes", STUCK.as_secs() / 60),
        });
    }
    Next::wait(
        "new-node-starts",
        "NodeStarting",
        format!("{} has not started yet: {}", node.name, state(node)),
    )
}

/// Nobody has been served by a node that is new, so it may be restarted.
///
/// A node without voters of its own that loses an answer of a bootstrap server at the wrong moment never asks again (seen with Kafka 4.4.0).
fn is_stuck(context: &Context<'_>, node: &Node, pod: &PodView) -> bool {
    // Fetching its image does not count.
    let age =
        pod.running_since.or(pod.created).map(|created| context.now.duration_since(created).unsigned_abs());
    let follows = node.voter.is_some() || node.observer.is_some();
    pod.running && pod.deletion_due.is_none() && !follows && age.is_some_and(|age| age >= STUCK)
}

/// The least crowded zone; `more` are zones of nodes that are about to be made.
pub(super) fn zone_for(context: &Context<'_>, more: &[Option<String>]) -> Option<String> {
    let nodes =
        context.observed.nodes.iter().filter(|node| !node.gone() || node.live_claims().next().is_some());
    let taken: Vec<Option<&str>> = nodes.map(Node::zone).chain(more.iter().map(Option::as_deref)).collect();
    zone::least_crowded(&context.desired.zones, &taken)
}
