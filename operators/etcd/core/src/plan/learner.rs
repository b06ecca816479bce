//! A learner on its way: claim, ticket, StatefulSet; started; ticket gone; promoted. Or removed again after its deadline.

use super::{Context, Next};
use crate::{
    intent::Intent,
    observed::{Member, PodView},
    validate::Storage,
};

pub(crate) fn next(context: &Context<'_>) -> Next {
    for member in &context.observed.members {
        if let (Some(ticket), true) = (&member.ticket, member.started() && serves_or_learns(member)) {
            return Next::Do(Intent::RevokeTicket {
                member: member.name.clone(),
                ticket: ticket.reference.clone(),
            });
        }
    }
    match context.observed.members.iter().find(|member| member.learner()) {
        Some(learner) => of_learner(context, learner),
        None => Next::Nothing,
    }
}

/// A learner serves no linearizable read; that it answers under its own id is enough to know that it started.
fn serves_or_learns(member: &Member) -> bool {
    member.answer().is_some()
}

fn of_learner(context: &Context<'_>, member: &Member) -> Next {
    let Some(listed) = &member.listed else { return Next::Nothing };
    let remove =
        |why: String| Next::Do(Intent::RemoveMember { member: member.name.clone(), id: listed.id, why });
    if member.pod.as_ref().is_some_and(PodView::lost_data) {
        return remove("it is a learner and lost its data".to_owned());
    }
    let Some(set) = &member.stateful_set else {
        if member.started() {
            // Started, yet without a StatefulSet: somebody deleted it. It is applied again if its claim is there.
            return if member.claims.iter().any(|claim| !claim.deleting) {
                Next::busy(
                    "stateful-set-exists",
                    "LearnerStarting",
                    format!("the StatefulSet of {} is being made again", member.name),
                )
            } else {
                remove("it is a learner and lost its volume".to_owned())
            };
        }
        return Next::Do(continue_adding(context, member));
    };
    if context.passed(set.created, context.desired.replace_after) {
        return remove(format!(
            "it did not {} in {}",
            if member.started() { "catch up" } else { "start" },
            ballast_core::duration::format(context.desired.replace_after)
        ));
    }
    let claim_lost = matches!(context.desired.storage, Storage::Volume { .. })
        && member.claim().is_none_or(|claim| {
            claim.phase == "Lost" || (claim.deleting && !member.pod.as_ref().is_some_and(|pod| pod.running))
        });
    if claim_lost {
        return remove("it is a learner and lost its volume".to_owned());
    }
    if member.answer().is_none() {
        if let Some(next) = bring_up_to_date(context, member) {
            return next;
        }
        return Next::wait("learner-starts", "LearnerStarting", starting(member));
    }
    if member.ticket.is_some() || !member.started() {
        return Next::busy("learner-starts", "LearnerStarting", starting(member));
    }
    Next::Do(Intent::Promote { member: member.name.clone(), id: listed.id })
}

/// A learner that cannot start under an old template gets the new one: nothing depends on it yet.
fn bring_up_to_date(context: &Context<'_>, member: &Member) -> Option<Next> {
    let set = member.stateful_set.as_ref()?;
    let pod_outdated = member
        .pod
        .as_ref()
        .is_some_and(|pod| pod.template_hash != context.template_hash && pod.deletion_due.is_none());
    (set.template_hash != context.template_hash || pod_outdated).then(|| {
        Next::Do(Intent::Update {
            ordinal: member.ordinal,
            pod: member.pod.as_ref().map(|pod| pod.uid.clone()),
            why: "it does not serve yet, and its template is not the wanted one".to_owned(),
        })
    })
}

pub(crate) fn starting(member: &Member) -> String {
    format!("{} has not started yet: {}", member.name, state(member))
}

/// What its pod does, in words.
pub(crate) fn state(member: &Member) -> String {
    let Some(pod) = &member.pod else { return "its pod is being made".to_owned() };
    if let Some(refusal) = &pod.refusal {
        return format!("{}: {}", refusal.reason(), refusal.detail());
    }
    if pod.volume_full {
        return "its volume is full: increase spec.storage.size".to_owned();
    }
    if pod.out_of_memory && !pod.running {
        return "it was killed for lack of memory: increase spec.resources.limits.memory".to_owned();
    }
    if pod.deletion_due.is_some() {
        return if pod.node_lost { "its node is lost" } else { "its pod is stopping" }.to_owned();
    }
    match &pod.waiting {
        Some(waiting) => waiting.clone(),
        None if pod.running => "it does not answer".to_owned(),
        None => "its containers start".to_owned(),
    }
}

fn continue_adding(context: &Context<'_>, member: &Member) -> Intent {
    let zone = member.zone().map(str::to_owned).or_else(|| super::resize::zone_for(context));
    Intent::AddMember { ordinal: member.ordinal, zone, why: "continuing what was begun".to_owned() }
}
