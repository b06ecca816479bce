//! What is left of members that etcd no longer lists: StatefulSet, pod, ticket, claim, in this order.

use std::time::Duration;

use super::{Context, Next};
use crate::{
    intent::Intent,
    observed::{AlarmKind, Member},
};

/// A removed member's pod that has outlived its time to stop by this long is on a node that does not answer.
const FORCE_AFTER: Duration = Duration::from_secs(15);

pub(crate) fn next(context: &Context<'_>) -> Next {
    let listed = context.observed.answers.list.iter().flatten().map(|entry| entry.id).collect::<Vec<_>>();
    let alarms = context.observed.answers.alarms.iter().flatten();
    for (id, kind) in alarms {
        if *kind == AlarmKind::Corrupt && !listed.contains(id) {
            return Next::Do(Intent::DisarmAlarm { id: *id });
        }
    }
    let mut waiting = vec![];
    for member in context.observed.members.iter().filter(|member| member.listed.is_none() && !member.gone()) {
        match of_member(context, member) {
            Next::Nothing => {}
            Next::Busy(blocked) => waiting.push(blocked),
            next => return next,
        }
    }
    waiting.into_iter().next().map_or(Next::Nothing, Next::Busy)
}

fn of_member(context: &Context<'_>, member: &Member) -> Next {
    let clean = |object: &ballast_core::object::ObjectRef| {
        Next::Do(Intent::CleanUp { member: member.name.clone(), object: object.clone() })
    };
    if let Some(set) = &member.stateful_set {
        return if set.deleting { going(member, "its StatefulSet") } else { clean(&set.reference) };
    }
    if let Some(ticket) = &member.ticket {
        return clean(&ticket.reference);
    }
    if let Some(pod) = &member.pod {
        // The garbage collector deletes it after its StatefulSet.
        return if context.passed(pod.deletion_due, FORCE_AFTER) {
            Next::Do(Intent::ForceDeletePod { member: member.name.clone(), pod: pod.uid.clone() })
        } else {
            going(member, "its pod")
        };
    }
    match member.claims.iter().find(|claim| !claim.deleting) {
        Some(claim) => clean(&claim.reference),
        None => Next::Nothing,
    }
}

fn going(member: &Member, what: &str) -> Next {
    Next::busy(
        "leftovers-gone",
        "CleaningUp",
        format!("{} is out of etcd's member list: waiting for {what} to go", member.name),
    )
}
