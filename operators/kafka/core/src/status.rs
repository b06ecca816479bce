//! What users read: computed anew from what was seen and decided, with only times carried over.

use ballast_core::{
    bootstrap::Record,
    condition::{self, Status},
    invalid::Invalid,
    plan::{Intent as _, Plan, PlanStatus},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::{
    api::{Endpoints, KafkaCluster, KafkaClusterStatus, NodeStatus},
    build, canary,
    intent::Intent,
    observed::{Node, Observed},
    plan,
    relocation::Relocation,
    validate::Desired,
    versions,
};

pub mod asked;
mod hot;
mod rebalance;

/// The status of a resource that is wrong: the last known facts stay, the conditions say what is wrong.
pub fn invalid(resource: &KafkaCluster, errors: &[Invalid], now: Timestamp) -> KafkaClusterStatus {
    let mut status = resource.status.clone().unwrap_or_default();
    let generation = resource.metadata.generation;
    condition::set_invalid(&mut status.conditions, errors, generation, now);
    status.observed_generation = generation;
    status.plan = None;
    status
}

/// The status of a resource that was planned for.
pub fn planned(
    resource: &KafkaCluster,
    desired: &Desired,
    observed: &Observed,
    plan: &Plan<Intent>,
    error: Option<&str>,
    now: Timestamp,
) -> KafkaClusterStatus {
    let previous = resource.status.clone().unwrap_or_default();
    let drain = observed.relocation.as_ref().and_then(|drain| drain.as_ref().ok());
    let facts = Facts {
        desired,
        observed,
        plan,
        error,
        started: matches!(
            observed.record.as_ref().ok().and_then(Option::as_ref).map(|found| &found.record),
            Some(Record::Started { .. })
        ),
        serving: observed.nodes.iter().filter(|node| node.wanted && node.serves()).count(),
        wanted: desired.nodes().count(),
    };
    KafkaClusterStatus {
        observed_generation: desired.generation,
        conditions: conditions(&previous, &facts, now),
        version: running(observed, desired).or(previous.version),
        metadata_version: observed.answers.metadata_level.map(i32::from).or(previous.metadata_version),
        cluster_id: observed.answers.cluster_id.clone().or(previous.cluster_id),
        ready_nodes: Some(format!("{}/{}", facts.serving, facts.wanted)),
        endpoints: facts.started.then(|| Endpoints {
            bootstrap_servers: build::bootstrap_servers(desired),
            binding_secret: build::binding_secret(desired).metadata.name.unwrap_or_default(),
        }),
        rebalance: rebalance::status(desired, observed, previous.rebalance.as_ref(), now),
        hot_partitions: hot::status(desired, observed),
        plan: Some(PlanStatus::of(plan, previous.plan.as_ref(), now)),
        nodes: observed
            .nodes
            .iter()
            .filter(|node| node.wanted || node.leaves())
            .map(|node| node_status(node, plan, drain, now))
            .collect(),
    }
}

/// The wanted version, once every node has the wanted template.
fn running(observed: &Observed, desired: &Desired) -> Option<String> {
    let hashes = build::template_hashes(desired);
    let wanted = |node: &Node| {
        node.pod.as_ref().is_some_and(|pod| hashes.get(node.pool.as_str()) == Some(&pod.template_hash))
    };
    let mut nodes = observed.nodes.iter().filter(|node| node.wanted).peekable();
    nodes.peek()?;
    nodes.all(wanted).then(|| desired.version.to_string())
}

struct Facts<'a> {
    desired: &'a Desired,
    observed: &'a Observed,
    plan: &'a Plan<Intent>,
    error: Option<&'a str>,
    started: bool,
    serving: usize,
    wanted: usize,
}

fn conditions(previous: &KafkaClusterStatus, facts: &Facts<'_>, now: Timestamp) -> Vec<Condition> {
    let mut conditions = previous.conditions.clone();
    let generation = facts.desired.generation;
    let mut set = |type_: &str, (status, reason, message): (Status, &str, String)| {
        condition::set(&mut conditions, type_, status, reason, message, generation, now);
    };
    set("Ready", ready(facts));
    set("QuorumHealthy", quorum(facts));
    set("Progressing", progressing(facts));
    set("Degraded", degraded(facts));
    let notes = facts.desired.notes.join("; ");
    let valid = if notes.is_empty() { "the specification is valid".to_owned() } else { notes };
    set("SpecValid", (Status::True, "Valid", valid));
    set(
        "VersionSupported",
        match versions::supported(&facts.desired.version) {
            Ok(_) => (Status::True, "Supported", format!("Kafka {}", facts.desired.version)),
            Err(message) => (Status::False, "VersionNotSupported", message),
        },
    );
    match facts.desired.canary {
        Some(_) if facts.started && !facts.desired.paused => {
            let outcomes = facts.observed.answers.canary.as_ref();
            set("CanaryPassing", canary::condition(&facts.observed.canary_brokers(facts.desired), outcomes));
        }
        Some(_) => {
            let message = "it is run while the cluster has started and is not paused".to_owned();
            set("CanaryPassing", (Status::Unknown, "CanaryNotRun", message));
        }
        None => conditions.retain(|condition| condition.type_ != "CanaryPassing"),
    }
    conditions
}

fn ready(facts: &Facts<'_>) -> (Status, &'static str, String) {
    let Facts { serving, wanted, .. } = facts;
    if !facts.started {
        let message = facts.plan.blocked.first().map_or_else(
            || "the first controller is being made".to_owned(),
            |blocked| blocked.message.clone(),
        );
        return (Status::False, "Bootstrapping", message);
    }
    match facts.observed.quorum_serves() {
        None => {
            (Status::False, "QuorumUnknown", "no node tells what the quorum of the controllers is".to_owned())
        }
        Some(false) => {
            (Status::False, "QuorumLost", "most controllers do not follow their leader".to_owned())
        }
        Some(true) if serving == wanted => {
            (Status::True, "NodesServe", format!("{serving} of {wanted} nodes serve"))
        }
        Some(true) => (Status::False, "NodesMissing", format!("{serving} of {wanted} nodes serve")),
    }
}

fn quorum(facts: &Facts<'_>) -> (Status, &'static str, String) {
    let Some(quorum) = &facts.observed.answers.quorum else {
        let message = "no node tells what the quorum of the controllers is".to_owned();
        return (Status::Unknown, "QuorumUnknown", message);
    };
    let fine =
        quorum.voters.iter().filter(|voter| quorum.caught_up(voter, crate::observed::CAUGHT_UP)).count();
    let message = format!("{fine} of {} controllers follow or lead", quorum.voters.len());
    match facts.observed.quorum_serves() {
        Some(true) => (Status::True, "QuorumServes", message),
        _ => (Status::False, "QuorumLost", message),
    }
}

/// Reasons after which nothing goes on by itself: a person must act.
const STOPPED: [&str; 11] = [
    "Paused",
    "VersionNotSupported",
    "RetainedVolumes",
    "DataLost",
    "SplitBrain",
    "PoolReplaced",
    "ForeignNode",
    "DrainInfeasible",
    "DrainBlocked",
    "DowngradeNotPossible",
    "MetadataVersionTooNew",
];

fn progressing(facts: &Facts<'_>) -> (Status, &'static str, String) {
    if let Some(intent) = &facts.plan.intent {
        return (Status::True, intent.reason(), intent.message());
    }
    if let Some(blocked) = facts.plan.blocked.first() {
        let stopped = STOPPED.contains(&blocked.reason);
        return (Status::from(!stopped), blocked.reason, blocked.message.clone());
    }
    (Status::False, "Converged", "nothing is to be done".to_owned())
}

fn degraded(facts: &Facts<'_>) -> (Status, &'static str, String) {
    if let Some(error) = facts.error {
        return (Status::True, "ReconcileFailed", error.to_owned());
    }
    let grave = ["DataLost", "SplitBrain", "ForeignNode"];
    if let Some(blocked) = facts.plan.blocked.iter().find(|blocked| grave.contains(&blocked.reason)) {
        return (Status::True, blocked.reason, blocked.message.clone());
    }
    let silent: Vec<String> = facts
        .observed
        .nodes
        .iter()
        .filter(|node| node.wanted && node.stateful_set.is_some() && node.ticket.is_none() && !node.serves())
        .map(|node| format!("{} ({})", node.name, plan::state(node)))
        .collect();
    if facts.started && !silent.is_empty() {
        return (Status::True, "NodeNotServing", format!("not serving: {}", silent.join(", ")));
    }
    let partitions = facts.observed.answers.partitions.iter().flatten();
    let offline = partitions.filter(|partition| partition.leader.is_none()).count();
    if offline > 0 {
        return (Status::True, "PartitionsOffline", format!("{offline} partitions have no leader"));
    }
    (Status::False, "AsExpected", "no fault is known".to_owned())
}

fn node_status(node: &Node, plan: &Plan<Intent>, drain: Option<&Relocation>, now: Timestamp) -> NodeStatus {
    let controller = match (&node.voter, &node.observer) {
        (Some(_), _) if node.leads => "Leader",
        (Some(_), _) => "Voter",
        (None, Some(_)) => "Observer",
        (None, None) => "Unknown",
    };
    let broker = match &node.registered {
        Some(broker) if broker.fenced => "Fenced",
        Some(_) => "Active",
        None => "Unregistered",
    };
    NodeStatus {
        id: node.id,
        name: node.name.clone(),
        controller: node.controller.then(|| controller.to_owned()),
        broker: node.broker.then(|| broker.to_owned()),
        zone: node.zone().map(str::to_owned),
        unhealthy_since: (!node.serves()).then(|| condition::rfc3339(node.unhealthy_since.unwrap_or(now))),
        doing: doing(node, plan, drain),
    }
}

/// What is being done with a node, or what is wrong with it.
fn doing(node: &Node, plan: &Plan<Intent>, drain: Option<&Relocation>) -> Option<String> {
    if let Some(intent) = &plan.intent {
        let mine = match intent {
            Intent::RevokeTicket { node: name, .. }
            | Intent::AddVoter { node: name, .. }
            | Intent::Update { node: name, .. }
            | Intent::Restart { node: name, .. }
            | Intent::Park { node: name, .. }
            | Intent::ReplaceVolume { node: name, .. }
            | Intent::Forget { node: name, .. } => *name == node.name,
            Intent::Bootstrap { place, .. } => place.id == node.id,
            Intent::AddNodes { places, .. } => places.iter().any(|(_, place)| place.id == node.id),
            Intent::RemoveVoter { id, .. } | Intent::Unregister { id, .. } => *id == node.id,
            Intent::Cordon { brokers } | Intent::Uncordon { brokers } => brokers.contains(&node.id),
            Intent::ConfirmStarted { .. }
            | Intent::FinalizeMetadata { .. }
            | Intent::MoveReplicas { .. }
            | Intent::Throttle(_)
            | Intent::CancelMoves { .. } => false,
        };
        if mine {
            return Some(intent.reason().to_owned());
        }
    }
    if node.leaves() {
        return Some(leaving(node, drain));
    }
    (!node.serves()).then(|| plan::state(node))
}

/// Where a node that leaves stands.
fn leaving(node: &Node, drain: Option<&Relocation>) -> String {
    match drain {
        _ if node.stateful_set.as_ref().is_none_or(|set| set.parked) => {
            "it is empty and is being removed".to_owned()
        }
        Some(drain) if node.broker => {
            format!("it is being emptied: {} partitions to go", drain.replicas_on(node.id))
        }
        _ => "it leaves".to_owned(),
    }
}
