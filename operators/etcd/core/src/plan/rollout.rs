//! A changed template goes from member to member: what is broken and outdated first, then followers, the leader last.
//!
//! Only the member whose turn it is carries the new template. A member that has it and does not serve stops everything.

use super::{Context, Next, learner, predicates, wait};
use crate::{intent::Intent, observed::Member, validate::Storage};

pub(crate) fn next(context: &Context<'_>) -> Next {
    let (mut outdated, current): (Vec<&Member>, Vec<&Member>) = context.observed.voters().partition(|member| is_outdated(context, member));
    if outdated.is_empty() {
        return Next::Nothing;
    }
    let unproven: Vec<&&Member> = current.iter().filter(|member| !member.serves()).collect();
    let proven = current.iter().any(|member| member.serves());
    outdated.sort_by_key(|member| (member.serves(), member.leads(), member.ordinal));
    let candidate = outdated[0];
    if !candidate.serves() {
        if let (Some(first), false) = (unproven.first(), proven) {
            return wait(
                "updated-members-serve",
                "UpdatedMemberNotServing",
                format!("{}; the new template goes no further until it serves; reverting the change always recovers", learner::starting(first)),
            );
        }
        return update(candidate, "it does not serve, and its template is not the wanted one");
    }
    if let Some(first) = unproven.first() {
        return wait(
            "updated-members-serve",
            "UpdatedMemberNotServing",
            format!("{}; the new template goes no further until it serves; reverting the change always recovers", learner::starting(first)),
        );
    }
    if matches!(context.desired.storage, Storage::Ephemeral { .. }) && context.observed.voters().count() <= 2 {
        return wait(
            "data-survives-restart",
            "EphemeralStorage",
            format!("restarting {} would lose data that no quorum of others holds: scale to 3 members first", candidate.name),
        );
    }
    let blocked = predicates::before_restart(context, candidate);
    if !blocked.is_empty() {
        return Next::Wait(blocked);
    }
    if let Some(step) = super::resize::leader_first(context, candidate, "it is about to be restarted") {
        return step;
    }
    update(candidate, "its template is not the wanted one")
}

fn is_outdated(context: &Context<'_>, member: &Member) -> bool {
    let set = member.stateful_set.as_ref().is_some_and(|set| set.template_hash != context.template_hash);
    let pod = member.pod.as_ref().is_some_and(|pod| pod.template_hash != context.template_hash);
    set || pod
}

fn update(member: &Member, why: &str) -> Next {
    let pod = member.pod.as_ref().filter(|pod| pod.deletion_due.is_none()).map(|pod| pod.uid.clone());
    Next::Do(Intent::Update { ordinal: member.ordinal, pod, why: why.to_owned() })
}
