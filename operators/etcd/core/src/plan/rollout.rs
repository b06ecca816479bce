//! A changed template goes from member to member: what is broken and outdated first, then followers, the leader last.
//!
//! Only the member whose turn it is carries the new template. A member that has it and does not serve stops everything.

use ballast_core::version::Minor;
use jiff::SignedDuration;

use super::{Context, Next, learner, predicates};
use crate::{intent::Intent, observed::Member, validate::Storage};

pub(crate) fn next(context: &Context<'_>) -> Next {
    let (mut outdated, current): (Vec<&Member>, Vec<&Member>) =
        context.observed.voters().partition(|member| is_outdated(context, member));
    if outdated.is_empty() {
        return Next::Nothing;
    }
    let unproven: Vec<&&Member> = current.iter().filter(|member| !member.serves()).collect();
    let proven = current.iter().any(|member| member.serves());
    outdated.sort_by_key(|member| (member.serves(), member.leads(), member.ordinal));
    let candidate = outdated[0];
    if !candidate.serves() {
        if let (Some(first), false) = (unproven.first(), proven) {
            return Next::wait(
                "updated-members-serve",
                "UpdatedMemberNotServing",
                format!(
                    "{}; the new template goes no further until it serves; reverting the change always recovers",
                    learner::starting(first)
                ),
            );
        }
        return update(candidate, "it does not serve, and its template is not the wanted one");
    }
    if let Some(first) = unproven.first() {
        return Next::wait(
            "updated-members-serve",
            "UpdatedMemberNotServing",
            format!(
                "{}; the new template goes no further until it serves; reverting the change always recovers",
                learner::starting(first)
            ),
        );
    }
    // A missing member comes first, with the new template: two voters of a cluster of three cannot spare one.
    if context.observed.voters().count() < context.desired.replicas {
        return Next::Nothing;
    }
    if matches!(context.desired.storage, Storage::Ephemeral { .. }) && context.observed.voters().count() <= 2
    {
        return Next::wait(
            "data-survives-restart",
            "EphemeralStorage",
            format!(
                "restarting {} would lose data that no quorum of others holds: scale to 3 members first",
                candidate.name
            ),
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

/// Without a quorum nothing is rolled out, but a member that certainly does not run gets the wanted template: so mending
/// or reverting a bad change recovers a cluster that the change brought down.
pub(crate) fn without_quorum(context: &Context<'_>) -> Next {
    if context.observed.answers.list.is_some() {
        return Next::Nothing;
    }
    let broken = context.observed.members.iter().find(|member| {
        let stuck = match &member.pod {
            Some(pod) if pod.scheduled || pod.unschedulable => {
                let waits = pod.deletion_due.is_none() && !pod.running && pod.waiting.is_some();
                waits && !pod.lost_data() && !pod.node_lost
            }
            Some(pod) if pod.deletion_due.is_some() => false,
            Some(_) | None => stays_away(context, member),
        };
        stuck && member.stateful_set.is_some() && is_outdated(context, member)
    });
    broken.map_or(Next::Nothing, |member| {
        update(member, "it does not run, and its template is not the wanted one")
    })
}

/// How long a pod that is only stopped and made again is away, at the very most.
const MADE_AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// Kubernetes may refuse to make pods of a template, for a service account or a priority class that is not there, or no
/// scheduler look at them: then there never is one that runs. A pod that only comes back late must not spread a template that another member fails with.
fn stays_away(context: &Context<'_>, member: &Member) -> bool {
    let set = |other: &Member| {
        other.stateful_set.as_ref().is_some_and(|set| set.template_hash == context.template_hash)
    };
    let fails = context.observed.members.iter().any(|other| set(other) && !other.serves());
    let long = member.unhealthy_since.is_some_and(|since| context.now.duration_since(since) >= MADE_AGAIN);
    !fails || long
}

/// Some seconds after the last member runs a new minor version, etcd raises the version of the cluster: only then is an
/// upgrade done, and cannot be taken back.
pub(crate) fn version_agreed(context: &Context<'_>) -> Next {
    let running =
        context.observed.voters().filter_map(Member::answer).map(|answer| Minor::from(&answer.version)).min();
    match (context.observed.answers.cluster_version, running) {
        (Some(agreed), Some(running)) if agreed < running => Next::busy(
            "cluster-version-agreed",
            "ClusterVersionPending",
            format!(
                "all members run {running}; etcd has not yet raised the version of the cluster from {agreed}"
            ),
        ),
        _ => Next::Nothing,
    }
}

fn is_outdated(context: &Context<'_>, member: &Member) -> bool {
    // Without a StatefulSet there is nothing to update: it is made again first, on the claim that is there.
    let Some(set) = &member.stateful_set else { return false };
    let pod = member.pod.as_ref().is_some_and(|pod| pod.template_hash != context.template_hash);
    set.template_hash != context.template_hash || pod
}

fn update(member: &Member, why: &str) -> Next {
    let pod = member.pod.as_ref().filter(|pod| pod.deletion_due.is_none()).map(|pod| pod.uid.clone());
    Next::Do(Intent::Update { ordinal: member.ordinal, pod, why: why.to_owned() })
}
