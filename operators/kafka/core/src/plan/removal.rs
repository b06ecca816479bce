//! Nodes that hold nothing any more: vote, pod, registration, volume, StatefulSet, in this order and one request at a time.

use super::{Context, Next, objects};
use crate::{
    intent::Intent,
    moving::CORDONS,
    observed::{CAUGHT_UP, Node},
    relocation::Relocation,
};

/// The next thing to be done for a node that leaves and is empty; `None`: there is none that could be removed now.
pub(super) fn next(context: &Context<'_>, drain: &Relocation) -> Option<Next> {
    let observed = context.observed;
    let mut leaving: Vec<&Node> = observed.nodes.iter().filter(|node| node.leaves()).collect();
    // Those whose vote does not count now first, the leader of the quorum last: when it goes, another one is elected.
    leaving.sort_by_key(|node| (node.leads, node.serves(), node.id));
    leaving.into_iter().filter(|node| is_empty(context, drain, node)).map(|node| one(context, node)).next()
}

/// Whether this read, taken after its cordon where there are cordons, shows no replica of a broker: neither in the lists of any
/// partition, nor on its disks.
fn is_empty(context: &Context<'_>, drain: &Relocation, node: &Node) -> bool {
    if drain.replicas_on(node.id) > 0 {
        return false;
    }
    let Some(registered) = &node.registered else { return true };
    let Some(moving) = &context.observed.answers.moving else { return false };
    // Who does not serve may have been stopped by us, or be lost: it takes nothing new while it is fenced.
    let cordoned = registered.fenced
        || moving.cordoned.contains(&node.id)
        || context.observed.answers.metadata_level.is_some_and(|level| level < CORDONS);
    let looked_at = registered.fenced || moving.disks.contains_key(&node.id);
    cordoned && looked_at
}

/// Who keeps a controller from giving its vote back: all that stay have to follow their leader, and most of all others.
pub(super) fn needed(context: &Context<'_>, node: &Node) -> Option<String> {
    let quorum = context.observed.answers.quorum.as_ref()?;
    let others: Vec<_> = quorum.voters.iter().filter(|voter| voter.id != node.id).collect();
    let behind: Vec<String> = others
        .iter()
        .filter(|voter| !quorum.caught_up(voter, CAUGHT_UP) || stops(context, voter.id))
        .filter(|voter| context.observed.node(voter.id).is_none_or(|other| other.wanted))
        .map(|voter| voter.id.to_string())
        .collect();
    if !behind.is_empty() {
        return Some(format!(
            "all controllers that stay have to follow their leader, and {} do not",
            behind.join(", ")
        ));
    }
    let fine = others.iter().filter(|voter| quorum.caught_up(voter, CAUGHT_UP)).count();
    (fine <= others.len() / 2).then(|| "too few of the other controllers follow their leader".to_owned())
}

fn stops(context: &Context<'_>, id: i32) -> bool {
    context.observed.node(id).is_some_and(Node::stops)
}

fn one(context: &Context<'_>, node: &Node) -> Next {
    let name = &node.name;
    if let Some(voter) = &node.voter {
        if let Some(why) = needed(context, node) {
            return Next::wait(
                "quorum-without-node",
                "QuorumAtRisk",
                format!("{name} cannot give its vote back: {why}"),
            );
        }
        return Next::Do(Intent::RemoveVoter {
            node: name.clone(),
            id: node.id,
            directory: voter.directory.clone(),
            why: "it leaves".to_owned(),
        });
    }
    let set = node.stateful_set.as_ref();
    if set.is_some_and(|set| !set.parked && !set.deleting)
        && let Some(place) = objects::place(context, node)
    {
        return Next::Do(Intent::Park { node: name.clone(), pool: node.pool.clone(), place });
    }
    if node.pod.is_some() {
        return Next::busy("pod-stopped", "PodStopping", format!("{name} is empty and stops"));
    }
    if let Some(registered) = &node.registered {
        if !registered.fenced {
            let message = format!("{name} has stopped; Kafka has not noticed yet");
            return Next::busy("broker-fenced", "BrokerStopping", message);
        }
        return Next::Do(Intent::Unregister { node: name.clone(), id: node.id });
    }
    Next::Do(Intent::Forget { node: name.clone(), retain: context.pool(node).is_none_or(|pool| pool.retain) })
}
