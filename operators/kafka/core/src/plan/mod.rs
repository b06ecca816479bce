//! What to do next: (desired, observed) → plan. Pure, total, deterministic.
//!
//! Concerns are asked in a fixed order; the first that wants something, or must wait, decides. What is under way is
//! finished first, then what is broken is repaired, then nodes are added, then changes are rolled out.

mod batch;
mod bootstrap;
mod drain;
mod even;
mod insync;
mod lost;
mod metadata;
mod nodes;
mod objects;
mod removal;
mod rollout;
mod throttle;

use std::{collections::BTreeMap, time::Duration};

use ballast_core::{
    bootstrap::Record,
    plan::{self, Plan},
};

use drain::Answer;
use jiff::Timestamp;

use crate::{
    build,
    intent::Intent,
    observed::{Node, Observed, PodView, StatefulSetView},
    relocation,
    validate::{Desired, Pool},
    versions,
};

/// How often traffic is measured, where it is.
const MEASURED: Duration = Duration::from_secs(20);

/// What a concern answers.
pub(crate) type Next = ballast_core::plan::Next<Intent>;

/// Everything that concerns look at.
pub(crate) struct Context<'a> {
    pub(crate) desired: &'a Desired,
    pub(crate) observed: &'a Observed,
    pub(crate) now: Timestamp,
    /// Hash of the template that the nodes of each pool should have.
    template_hashes: BTreeMap<&'a str, String>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(desired: &'a Desired, observed: &'a Observed, now: Timestamp) -> Self {
        Self { desired, observed, now, template_hashes: build::template_hashes(desired) }
    }

    /// The pool of a node.
    pub(crate) fn pool(&self, node: &Node) -> Option<&'a Pool> {
        self.desired.pool(&node.pool)
    }

    /// Hash of the template that a node should have; `None`: that it has, whatever it is.
    pub(crate) fn template_hash(&self, node: &Node) -> Option<&str> {
        self.template_hashes.get(node.pool.as_str()).map(String::as_str)
    }

    /// Whether a node is known to have a replica, or to get one.
    pub(crate) fn holds_replicas(&self, node: &Node) -> bool {
        let drain = self.observed.relocation.as_ref().and_then(|drain| drain.as_ref().ok());
        drain.is_some_and(|drain| drain.replicas_on(node.id) > 0)
    }

    /// Whether a node's StatefulSet has another template than the wanted one.
    pub(crate) fn outdated_set(&self, node: &Node) -> bool {
        let wanted = self.template_hash(node);
        let differs = |set: &StatefulSetView| wanted.is_some_and(|wanted| set.template_hash != wanted);
        node.stateful_set.as_ref().is_some_and(differs)
    }

    /// Whether a node's StatefulSet or pod has another template than the wanted one.
    pub(crate) fn outdated(&self, node: &Node) -> bool {
        let wanted = self.template_hash(node);
        let pod = node.pod.as_ref().filter(|pod| pod.deletion_due.is_none());
        let differs = |pod: &PodView| wanted.is_some_and(|wanted| pod.template_hash != wanted);
        self.outdated_set(node) || pod.is_some_and(differs)
    }
}

/// Decides.
pub fn plan(desired: &Desired, observed: &Observed, now: Timestamp) -> Plan<Intent> {
    if desired.paused {
        return plan::paused();
    }
    let desired = desired.with_departing(&observed.children);
    let context = Context::new(&desired, observed, now);
    let mut plan = Plan::default();
    let next = decide(&context, &mut plan);
    plan.conclude(next);
    if relocation::needs_rates(&desired, &observed.asked) {
        plan.requeue(MEASURED);
    }
    if let Some(interval) = desired.canary {
        // What became of its records is told in the status.
        plan.requeue(interval);
    }
    if observed.rebalance.is_some() && drain::is_over(&context) {
        // Something else may wait for its turn.
        plan.requeue(Duration::from_secs(1));
    }
    plan
}

fn decide(context: &Context<'_>, plan: &mut Plan<Intent>) -> Next {
    let Context { desired, observed, .. } = context;
    let record = match &observed.record {
        Ok(record) => record.as_ref().map(|found| &found.record),
        Err(message) => {
            return Next::wait(
                "bootstrap-record-readable",
                "BootstrapRecordUnreadable",
                format!("the bootstrap record cannot be read: {message}"),
            );
        }
    };
    let Some(expected) = desired.cluster_id() else {
        return Next::wait("cluster-has-uid", "NoUid", "the KafkaCluster has no uid, or none that is a UUID");
    };
    if let Some(id) = observed.answers.cluster_id.as_ref().filter(|id| **id != expected) {
        return Next::wait(
            "one-cluster-id",
            "SplitBrain",
            format!(
                "a node answers for the cluster {id}, not {expected}: nothing is changed, a person must decide"
            ),
        );
    }
    if let (None, Err(message)) = (record, versions::supported(&desired.version)) {
        return Next::wait("version-supported", "VersionNotSupported", message);
    }
    let started = matches!(record, Some(Record::Started { .. }));
    objects::apply(context, started, plan);
    match record {
        None => return bootstrap::begin(context),
        Some(record) if !started => return bootstrap::proceed(context, record),
        Some(_) => {}
    }
    objects::prune(context, plan);
    let concerns: &[fn(&Context<'_>) -> Next] = &[
        rollout::broken,
        nodes::quorum_known,
        nodes::tickets,
        nodes::strangers,
        lost::next,
        nodes::voters,
        nodes::missing,
        nodes::starting,
    ];
    if let Some(next) = concerns.iter().map(|concern| concern(context)).find(|next| *next != Next::Nothing) {
        return next;
    }
    match drain::next(context) {
        Answer::Next(Next::Nothing) => match changes(context) {
            Next::Nothing => even::next(context),
            next => next,
        },
        Answer::Next(next) => next,
        // It waits for people or for what cannot be hurried: changes need not wait with it.
        Answer::Held(held) => match changes(context) {
            Next::Nothing => Next::Wait(vec![held]),
            Next::Wait(more) => Next::Wait([vec![held], more].concat()),
            next => next,
        },
    }
}

/// Changes of what runs, and then of what it may use.
fn changes(context: &Context<'_>) -> Next {
    match rollout::next(context) {
        Next::Nothing => metadata::finalize(context),
        next => next,
    }
}

/// Whether nothing is to be moved any more, and nothing of it is left in Kafka.
pub(crate) fn relocation_is_over(desired: &Desired, observed: &Observed) -> bool {
    let desired = desired.with_departing(&observed.children);
    // What is over does not depend on the time.
    drain::is_over(&Context::new(&desired, observed, Timestamp::UNIX_EPOCH))
}

/// What a node that does not serve is doing, in words.
pub(crate) fn state(node: &Node) -> String {
    let Some(pod) = &node.pod else { return "its pod is being made".to_owned() };
    if let Some(refusal) = &pod.refusal {
        return format!("{}: {}", refusal.reason(), refusal.detail());
    }
    if pod.volume_full {
        return "its volume is full: increase spec.nodePools[].storage.volumes[].size".to_owned();
    }
    if pod.out_of_memory && !pod.running {
        return "it was killed for lack of memory: increase spec.nodePools[].resources.limits.memory"
            .to_owned();
    }
    if pod.deletion_due.is_some() {
        return if pod.node_lost { "its Kubernetes node is lost" } else { "its pod is stopping" }.to_owned();
    }
    if let Some(waiting) = &pod.waiting {
        return waiting.clone();
    }
    if !pod.running {
        return "its containers start".to_owned();
    }
    match &node.probe {
        Err(why) => format!("it does not answer: {why}"),
        Ok(()) if node.broker && node.registered.as_ref().is_none_or(|broker| broker.fenced) => {
            "it is fenced: the quorum has not let it into service yet".to_owned()
        }
        Ok(()) if node.controller && node.voter.is_none() => "it does not vote yet".to_owned(),
        Ok(()) => "it serves".to_owned(),
    }
}
