//! How far the moving of replicas is.

use ballast_core::condition;
use jiff::Timestamp;

use crate::{
    api::{Purpose, RebalanceStatus},
    observed::Observed,
    plan, progress,
    rebalance::{outcome::Plan, schedule},
    relocation::Relocation,
    validate::Desired,
};

/// At most so many things that are held up are listed.
const LISTED: usize = 20;

/// What is told, and remembered for the next pass; nothing once nothing is left of it in Kafka.
pub(super) fn status(
    desired: &Desired,
    observed: &Observed,
    previous: Option<&RebalanceStatus>,
    now: Timestamp,
) -> Option<RebalanceStatus> {
    let (Some(Ok(drain)), Some(moving)) = (&observed.relocation, &observed.answers.moving) else {
        // Nothing new is known: what was known stays.
        return previous.cloned();
    };
    let empties_nobody = drain.purpose == Purpose::Drain && drain.leaving.is_empty();
    if plan::relocation_is_over(desired, observed) || (empties_nobody && previous.is_none()) {
        return None;
    }
    // What others have set for all brokers is theirs.
    let ours = match previous {
        None => moving.rates == (None, None),
        Some(status) => status.throttle.is_some(),
    };
    let avoided = previous.map(|status| status.avoided.as_slice()).unwrap_or_default();
    let avoided = progress::avoided(avoided, &drain.stuck, now);
    let previous = previous.filter(|status| status.purpose == drain.purpose);
    let mut brokers: Vec<i32> = previous.map(|status| status.brokers.clone()).unwrap_or_default();
    let named = if drain.purpose == Purpose::Spread { &drain.kept } else { &drain.leaving };
    brokers.extend(named.iter().filter(|id| !brokers.contains(id)).copied().collect::<Vec<_>>());
    brokers.sort_unstable();
    let to_go = bytes(drain.bytes_to_go());
    let total = previous.map_or(0, |status| status.total_bytes).max(to_go);
    Some(RebalanceStatus {
        purpose: drain.purpose,
        brokers,
        started_at: previous.map_or_else(|| condition::rfc3339(now), |status| status.started_at.clone()),
        throttle: ours.then(|| bytes(desired.throttle)),
        total_bytes: total,
        moved_bytes: total - to_go,
        bytes_to_go: to_go,
        partitions_to_go: count(drain.plan.moves.iter().filter(|it| !it.transfers.is_empty()).count()),
        in_flight: count(drain.in_flight()),
        time_left: time_left(desired, drain, ours),
        stalled: drain.stuck.iter().map(ToString::to_string).take(LISTED).collect(),
        avoided,
        blocked: blocked(&drain.plan),
    })
}

fn bytes(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

pub(super) fn blocked(plan: &Plan) -> Vec<String> {
    let infeasible = plan.infeasible.iter().map(|topic| topic.message.clone());
    let blocked = plan.blocked.iter().map(ToString::to_string);
    infeasible.chain(blocked).take(LISTED).collect()
}

/// With the operator's own throttle; nothing is known of what another one allows.
fn time_left(desired: &Desired, drain: &Relocation, ours: bool) -> Option<String> {
    let left = schedule::shortest_time(&drain.snapshot, &drain.plan.moves, desired.throttle).as_secs();
    let (hours, minutes, seconds) = (left / 3600, left / 60 % 60, left % 60);
    let text = match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {seconds:02} s"),
        _ => format!("{hours} h {minutes:02} min"),
    };
    (ours && left > 0).then_some(text)
}
