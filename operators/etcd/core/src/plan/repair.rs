//! Members that are certainly broken are replaced; members that do not serve are restarted once, then replaced.
//!
//! What still serves is never replaced, unless its data is known to be corrupt or a person names its id.

use std::time::Duration;

use ballast_core::{
    duration,
    plan::{Blocked, Plan},
};

use super::{Context, Next, learner, predicates};
use crate::{
    intent::Intent,
    observed::{Member, PodView},
    validate::Storage,
};

/// How soon members that do not serve are looked at again; short against any sensible deadline.
const LOOK_AGAIN: Duration = Duration::from_secs(3);

/// What is wrong with a voter.
#[derive(Debug, PartialEq)]
enum Ailment {
    /// It must leave: the reason.
    Lost(String),
    /// It may come back after a restart: the reason.
    Hung(String),
}

pub(crate) fn next(context: &Context<'_>) -> Next {
    let mut waiting = vec![];
    for member in context.observed.voters() {
        let Some(ailment) = ailment(context, member) else { continue };
        match treat(context, member, ailment) {
            Next::Wait(blocked) => waiting.extend(blocked),
            Next::Nothing | Next::Busy(_) => {}
            next @ Next::Do(_) => return next,
        }
    }
    if waiting.is_empty() { Next::Nothing } else { Next::Wait(waiting) }
}

fn ailment(context: &Context<'_>, member: &Member) -> Option<Ailment> {
    if member.corrupt {
        return Some(Ailment::Lost(
            "etcd raised a CORRUPT alarm for it: its data differs from that of the others".to_owned(),
        ));
    }
    let id = member.listed.as_ref().map(|listed| format!("{:x}", listed.id));
    if context.desired.replace.is_some() && context.desired.replace == id {
        return Some(Ailment::Lost(format!("the annotation {} names its id", ballast_core::label::REPLACE)));
    }
    if member.serves() {
        return None;
    }
    let pod = member.pod.as_ref();
    if pod.is_some_and(PodView::lost_data) {
        return Some(Ailment::Lost("its volume lost its data".to_owned()));
    }
    if matches!(context.desired.storage, Storage::Volume { .. }) && !pod.is_some_and(|pod| pod.running) {
        match member.claim() {
            None if member.stateful_set.is_some() || member.claims.iter().all(|claim| claim.deleting) => {
                return Some(Ailment::Lost("its claim is gone".to_owned()));
            }
            Some(claim) if claim.phase == "Lost" => {
                return Some(Ailment::Lost("its volume is gone".to_owned()));
            }
            Some(claim) if claim.deleting => {
                return Some(Ailment::Lost("its claim is being deleted".to_owned()));
            }
            _ => {}
        }
    }
    // While there was no quorum nobody could serve: after an outage of all, each gets its time to come back.
    let since = context.observed.quorum_since.and_then(|quorum| Some(quorum.max(member.unhealthy_since?)));
    if excused(member) || pod.is_some_and(|pod| pod.ready) {
        return None;
    }
    let age = |limit| context.passed(since, limit);
    if age(context.desired.replace_after) {
        let why = match pod {
            Some(pod) if pod.node_lost || pod.deletion_due.is_some() => "its node has been lost",
            Some(pod) if pod.unschedulable => "its pod cannot be scheduled",
            Some(_) => "it has not served",
            None => "it has had no pod",
        };
        return Some(Ailment::Lost(format!("{why} for {}", duration::format(context.desired.replace_after))));
    }
    let old_pod = pod.filter(|pod| pod.running && pod.deletion_due.is_none() && pod.created < since);
    if age(context.desired.restart_after) && old_pod.is_some() {
        return Some(Ailment::Hung(format!(
            "it has not served for {}",
            duration::format(context.desired.restart_after)
        )));
    }
    None
}

/// Voters that do not serve and are not treated yet: told with what will be done, and looked at again before long, since
/// time alone makes nobody look.
pub(crate) fn tell(context: &Context<'_>, plan: &mut Plan<Intent>) {
    for member in context.observed.voters().filter(|member| !member.serves()) {
        if ailment(context, member).is_some() {
            continue;
        }
        let state = learner::state(member);
        let message = if excused(member) {
            format!(
                "{} does not serve ({state}): a new member would meet the same, so it is not replaced for that",
                member.name
            )
        } else {
            format!(
                "{} does not serve ({state}): after {} it is restarted, after {} replaced, if the others hold a quorum",
                member.name,
                duration::format(context.desired.restart_after),
                duration::format(context.desired.replace_after)
            )
        };
        plan.blocked.push(Blocked::new("members-serve", "MemberNotServing", message));
        plan.requeue(LOOK_AGAIN);
    }
}

/// Causes that a new member would meet again: they are reported, not replaced.
fn excused(member: &Member) -> bool {
    let Some(pod) = &member.pod else { return false };
    let image = pod.waiting.as_deref().is_some_and(|reason| {
        reason.contains("Image") || reason == "CreateContainerConfigError" || reason == "CreateContainerError"
    });
    image || pod.out_of_memory || pod.volume_full || pod.refused
}

fn treat(context: &Context<'_>, member: &Member, ailment: Ailment) -> Next {
    let why = match ailment {
        Ailment::Hung(why) => {
            let pod = member.pod.as_ref().map(|pod| pod.uid.clone()).unwrap_or_default();
            return Next::Do(Intent::Restart { member: member.name.clone(), pod, why });
        }
        Ailment::Lost(why) => why,
    };
    let Some(id) = member.listed.as_ref().map(|listed| listed.id) else { return Next::Nothing };
    let blocked = predicates::before_removal(context, member);
    if !blocked.is_empty() {
        let voters = context.observed.voters().count();
        if voters <= 2 {
            return Next::wait(
                "quorum-without-member",
                "DataLost",
                format!(
                    "{} must be replaced ({why}), but with {voters} member(s) the others cannot hold a quorum: bring its volume back, \
                     or delete the EtcdCluster and restore a backup",
                    member.name
                ),
            );
        }
        return Next::Wait(
            blocked
                .into_iter()
                .map(|mut entry| {
                    entry.message = format!("{} must be replaced ({why}): {}", member.name, entry.message);
                    entry
                })
                .collect(),
        );
    }
    if let Some(step) = super::resize::leader_first(context, member, &why) {
        return step;
    }
    Next::Do(Intent::RemoveMember { member: member.name.clone(), id, why })
}
