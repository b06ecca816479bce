//! What is told of what people ask for.

use ballast_core::{
    condition::{self, Status},
    object::Companion,
    plan::Plan,
};
use jiff::Timestamp;
use serde_json::Value;

use super::rebalance::blocked;
use crate::{
    api::{
        Purpose,
        kafka_rebalance::{Asked, EvennessStatus, KafkaRebalanceStatus, Mode, RebalancePlan},
    },
    intent::Intent,
    observed::Observed,
    rebalance::{outcome, schedule},
    relocation::{self, Relocation},
    validate::Desired,
};

/// The status of each rebalance that people ask for.
pub fn statuses(
    desired: &Desired,
    observed: &Observed,
    plan: &Plan<Intent>,
    now: Timestamp,
) -> Vec<(Companion, Value)> {
    let told = |asked: &Asked| {
        let status = status(desired, observed, plan, asked, now);
        (asked.companion.clone(), serde_json::to_value(status).unwrap_or(Value::Null))
    };
    observed.asked.iter().map(told).collect()
}

/// The status of one whose cluster does not exist.
pub fn without_cluster(companion: &Companion, now: Timestamp) -> Option<Value> {
    let asked = Asked::read(companion)?;
    let message = format!("there is no KafkaCluster {} in this namespace", asked.spec.cluster);
    let status = told(&asked, asked.status.clone(), &Progress::new("Pending", message), now);
    serde_json::to_value(status).ok()
}

/// How far one is.
struct Progress {
    state: &'static str,
    message: String,
    bytes: Option<u64>,
    partitions: Option<usize>,
}

impl Progress {
    fn new(state: &'static str, message: impl Into<String>) -> Self {
        Self { state, message: message.into(), bytes: None, partitions: None }
    }
}

fn status(
    desired: &Desired,
    observed: &Observed,
    plan: &Plan<Intent>,
    asked: &Asked,
    now: Timestamp,
) -> KafkaRebalanceStatus {
    let mut status = asked.status.clone();
    if !asked.is_told() {
        status.plan = None;
    }
    if let Err(refusal) = relocation::check(desired, asked) {
        return told(asked, status, &Progress::new("Refused", refusal), now);
    }
    if asked.is_over() {
        return status;
    }
    let relocation = match &observed.relocation {
        Some(Ok(relocation)) => relocation,
        Some(Err(unknown)) => return told(asked, status, &Progress::new("Pending", unknown), now),
        None => {
            return told(asked, status, &Progress::new("Pending", "the cluster has not started yet"), now);
        }
    };
    if asked.spec.mode == Mode::HotPartitions && observed.answers.rates.is_none() {
        let message = "what producers write is being measured, for a minute";
        return told(asked, status, &Progress::new("Pending", message), now);
    }
    if status.plan.is_none() {
        status.plan =
            relocation::plan(desired, relocation, asked).ok().map(|plan| summary(desired, relocation, &plan));
    }
    let progress = match (asked.spec.dry_run, asked.spec.mode) {
        (true, _) => Progress::new("Planned", "nothing is moved: status.plan says what would be"),
        (false, Mode::Drain) => drain(observed, plan, relocation, asked),
        (false, Mode::Full | Mode::HotPartitions) => even(observed, plan, relocation, asked),
    };
    told(asked, status, &progress, now)
}

fn drain(observed: &Observed, plan: &Plan<Intent>, relocation: &Relocation, asked: &Asked) -> Progress {
    let ids = &asked.spec.node_ids;
    let partitions: usize = ids.iter().map(|id| relocation.replicas_on(*id)).sum();
    if partitions == 0 {
        let message = "the brokers hold nothing, and take nothing new until this is deleted";
        return Progress { bytes: Some(0), partitions: Some(0), ..Progress::new("Completed", message) };
    }
    let disks = observed.answers.moving.iter().flat_map(|moving| &moving.disks);
    let bytes: u64 =
        disks.filter(|(id, _)| ids.contains(id)).flat_map(|(_, disks)| disks.replicas.values()).sum();
    let (bytes, partitions) = (Some(bytes), Some(partitions));
    if let Some(blocked) = plan.blocked.iter().find(|blocked| blocked.reason.starts_with("Drain")) {
        let state = if blocked.reason == "DrainBegins" { "Pending" } else { "Blocked" };
        return Progress { bytes, partitions, ..Progress::new(state, blocked.message.clone()) };
    }
    Progress { bytes, partitions, ..Progress::new("Moving", doing(plan)) }
}

fn even(observed: &Observed, plan: &Plan<Intent>, relocation: &Relocation, asked: &Asked) -> Progress {
    let mine = if asked.spec.mode == Mode::Full { Purpose::Full } else { Purpose::HotPartitions };
    let first = relocation::first(&observed.asked);
    if let Some(first) = first.filter(|first| first.companion.uid != asked.companion.uid) {
        return Progress::new("Pending", format!("{} was asked for earlier", first.companion.name));
    }
    if relocation.purpose != mine {
        return Progress::new("Pending", format!("something else is moved first: {}", doing(plan)));
    }
    if relocation.is_done() {
        let message = "no move would make the brokers more even";
        return Progress { bytes: Some(0), partitions: Some(0), ..Progress::new("Completed", message) };
    }
    let partitions = relocation.plan.moves.len() + relocation.in_flight();
    let (bytes, partitions) = (Some(relocation.bytes_to_go()), Some(partitions));
    Progress { bytes, partitions, ..Progress::new("Moving", doing(plan)) }
}

/// What the plan of the cluster says.
fn doing(plan: &Plan<Intent>) -> String {
    use ballast_core::plan::Intent as _;
    let held = plan.blocked.first().map(|blocked| blocked.message.clone());
    plan.intent
        .as_ref()
        .map(Intent::message)
        .or(held)
        .unwrap_or_else(|| "replicas are being moved".to_owned())
}

fn told(
    asked: &Asked,
    mut status: KafkaRebalanceStatus,
    progress: &Progress,
    now: Timestamp,
) -> KafkaRebalanceStatus {
    let generation = asked.companion.generation;
    let Progress { state, message, .. } = progress;
    let accepted = if *state == "Refused" {
        (Status::False, "Refused", message.as_str())
    } else {
        (Status::True, "Accepted", "it is planned with the cluster")
    };
    let completed = Status::from(*state == "Completed");
    let set = &mut status.conditions;
    condition::set(set, "Accepted", accepted.0, accepted.1, accepted.2, generation, now);
    condition::set(set, "Completed", completed, state, message, generation, now);
    status.observed_generation = generation;
    (*state).clone_into(&mut status.state);
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    status.bytes_to_go = progress.bytes.map(number);
    status.partitions_to_go = progress.partitions.map(count);
    if *state == "Moving" {
        status.started_at.get_or_insert_with(|| condition::rfc3339(now));
        status.completed_at = None;
    }
    if *state == "Completed" {
        status.completed_at.get_or_insert_with(|| condition::rfc3339(now));
    }
    status
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn summary(desired: &Desired, relocation: &Relocation, plan: &outcome::Plan) -> RebalancePlan {
    let report = &plan.report;
    let bytes = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    #[allow(clippy::cast_possible_truncation, reason = "a ratio in hundredths; the cast saturates")]
    let hundredths = |ratio: f64| (ratio * 100.0).round() as i32;
    let after = |resource| report.after.iter().find(|after| after.resource == resource);
    let evenness = report.before.iter().filter_map(|before| {
        Some(EvennessStatus {
            resource: format!("{:?}", before.resource),
            before: hundredths(before.ratio),
            after: hundredths(after(before.resource)?.ratio),
        })
    });
    RebalancePlan {
        partitions: count(plan.moves.len()),
        replicas: count(report.transfers),
        leaders: count(report.leader_changes),
        bytes: bytes(report.bytes),
        lower_bound_bytes: bytes(report.lower_bound_bytes),
        seconds: bytes(
            schedule::shortest_time(&relocation.snapshot, &plan.moves, desired.throttle).as_secs(),
        ),
        evenness: evenness.collect(),
        blocked: blocked(plan),
    }
}
