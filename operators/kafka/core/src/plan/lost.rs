//! Nodes whose data is certainly gone start again on an empty volume, once others are known to have everything that they had:
//! their vote is taken back first, and their partitions are copied from their leaders by Kafka itself.

use ballast_core::label;

use super::{Context, Next, drain::listed, metadata, nodes, objects, removal};
use crate::{
    build::{self, Place},
    intent::Intent,
    observed::Node,
};

pub(super) fn next(context: &Context<'_>) -> Next {
    let lost = context.observed.nodes.iter().filter(|node| node.wanted && node.is_lost());
    let mut waiting = vec![];
    for node in lost {
        match treat(context, node) {
            Next::Wait(blocked) => waiting.extend(blocked),
            Next::Nothing => {}
            next @ (Next::Do(_) | Next::Busy(_)) => return next,
        }
    }
    if waiting.is_empty() { Next::Nothing } else { Next::Wait(waiting) }
}

fn treat(context: &Context<'_>, node: &Node) -> Next {
    let name = &node.name;
    if node.stateful_set.as_ref().is_some_and(|set| set.deleting) {
        return Next::busy(
            "stateful-set-gone",
            "NodeStopping",
            format!("the StatefulSet of {name} is being deleted"),
        );
    }
    let Some(pool) = context.pool(node) else { return Next::Nothing };
    // Once permission is given, all of this was looked at; what is left is to go on.
    if node.ticket.is_none() {
        if let Some(why) = only_copies(context, node) {
            return Next::wait("copies-elsewhere", "DataLost", why);
        }
        if let Some(voter) = &node.voter {
            if let Some(why) = removal::needed(context, node) {
                let others =
                    context.observed.answers.quorum.as_ref().map_or(0, |quorum| quorum.voters.len() - 1);
                let message = if others == 0 {
                    format!(
                        "{name} was the only controller, and its volume is lost: bring the volume back, or delete the KafkaCluster"
                    )
                } else {
                    format!("the volume of {name} is lost, and its vote cannot be taken back: {why}")
                };
                return Next::wait(
                    "quorum-without-node",
                    if others == 0 { "DataLost" } else { "QuorumAtRisk" },
                    message,
                );
            }
            return Next::Do(Intent::RemoveVoter {
                node: name.clone(),
                id: node.id,
                directory: voter.directory.clone(),
                why: "its volume is lost".to_owned(),
            });
        }
    }
    if let Some(blocked) = metadata::unfit(context) {
        return Next::Wait(vec![blocked]);
    }
    // One that was made for it already, or a new one.
    let begun = node.live_claims().find(|claim| Some(&claim.reference) != lost_claim(node));
    let place = Place {
        id: node.id,
        claim: begun.map_or_else(
            || build::claim_name(context.desired, name, node.next_attempt()),
            |claim| claim.reference.name.clone(),
        ),
        zone: objects::zone(context, node).or_else(|| nodes::zone_for(context, &[])),
    };
    Next::Do(Intent::ReplaceVolume {
        node: name.clone(),
        pool: pool.name.clone(),
        place,
        lost: lost_claim(node).cloned(),
        pod: node.pod.as_ref().filter(|pod| pod.deletion_due.is_none()).map(|pod| pod.uid.clone()),
    })
}

/// The claim that it had, if that still exists and is not given up yet.
fn lost_claim(node: &Node) -> Option<&ballast_core::object::ObjectRef> {
    node.claim().filter(|claim| !claim.retired && !claim.deleting).map(|claim| &claim.reference)
}

/// Partitions that no other broker is known to have whole: starting empty would lose them for good. Who leads one has everything that was
/// acknowledged.
fn only_copies(context: &Context<'_>, node: &Node) -> Option<String> {
    if !node.broker || context.desired.replace.as_deref() == Some(node.id.to_string().as_str()) {
        return None;
    }
    let name = &node.name;
    let Some(partitions) = &context.observed.answers.partitions else {
        return Some(format!("the volume of {name} is lost, and Kafka does not tell what it had"));
    };
    let served = |leader: Option<i32>| leader.is_some_and(|leader| leader != node.id);
    let mine = partitions.iter().filter(|partition| partition.replicas.contains(&node.id));
    let alone: Vec<String> = mine
        .filter(|partition| !served(partition.leader))
        .map(|partition| format!("{}-{}", partition.topic, partition.index))
        .collect();
    (!alone.is_empty()).then(|| {
        format!(
            "the volume of {name} is lost, and no other broker that runs has all of {}: bring the volume back, or the brokers that have \
             them, or delete the topics; {}={} on the KafkaCluster accepts that their records are lost",
            listed(alone.into_iter()),
            label::REPLACE,
            node.id
        )
    })
}
