//! More members, or fewer: one at a time.

use std::cmp::Reverse;

use ballast_core::zone;
use jiff::SignedDuration;

use super::{Context, Next, predicates};
use crate::{intent::Intent, observed::Member};

/// How long a zone that could not take a member is avoided.
pub(crate) const SUSPECT_FOR: SignedDuration = SignedDuration::from_hours(1);

pub(crate) fn next(context: &Context<'_>) -> Next {
    let voters = context.observed.voters().count();
    if voters < context.desired.replicas {
        return grow(context, voters);
    }
    if voters > context.desired.replicas {
        return shrink(context, voters);
    }
    Next::Nothing
}

fn grow(context: &Context<'_>, voters: usize) -> Next {
    if context.observed.quorum() != Some(true) {
        return Next::wait(
            "quorum-serves",
            "QuorumAtRisk",
            "a member is added only while a quorum of the voters serves",
        );
    }
    let known = &context.observed.members;
    // One more than there are known members is always enough.
    let ordinal = (0_u32..)
        .take(known.len() + 1)
        .find(|ordinal| known.iter().find(|member| member.ordinal == *ordinal).is_none_or(Member::gone))
        .unwrap_or_default();
    Next::Do(Intent::AddMember {
        ordinal,
        zone: zone_for(context),
        why: format!("{voters} of {} members", context.desired.replicas),
    })
}

/// The least crowded zone that is not suspected.
pub(crate) fn zone_for(context: &Context<'_>) -> Option<String> {
    let suspected = |zone: &String| {
        context.observed.suspect_zones.iter().any(|suspect| {
            suspect.zone == *zone
                && suspect
                    .since
                    .parse::<jiff::Timestamp>()
                    .is_ok_and(|since| context.now.duration_since(since) < SUSPECT_FOR)
        })
    };
    let good: Vec<String> = context.desired.zones.iter().filter(|zone| !suspected(zone)).cloned().collect();
    let zones = if good.is_empty() { &context.desired.zones } else { &good };
    let taken: Vec<Option<&str>> =
        context.observed.members.iter().filter(|member| !member.gone()).map(Member::zone).collect();
    zone::least_crowded(zones, &taken)
}

fn shrink(context: &Context<'_>, voters: usize) -> Next {
    let taken: Vec<Option<&str>> = context.observed.voters().map(Member::zone).collect();
    let victim = context.observed.voters().min_by_key(|member| {
        (member.serves(), Reverse(zone::crowd(member.zone(), &taken)), Reverse(member.ordinal))
    });
    let Some(victim) = victim else { return Next::Nothing };
    let blocked = predicates::before_removal(context, victim);
    if !blocked.is_empty() {
        return Next::Wait(blocked);
    }
    let why = format!("{voters} members, {} wanted", context.desired.replicas);
    if let Some(step) = leader_first(context, victim, &why) {
        return step;
    }
    let id = victim.listed.as_ref().map_or(0, |listed| listed.id);
    Next::Do(Intent::RemoveMember { member: victim.name.clone(), id, why })
}

/// If `member` leads: moving leadership to a serving voter that has caught up best comes first.
pub(crate) fn leader_first(context: &Context<'_>, member: &Member, why: &str) -> Option<Next> {
    if !member.leads() || !member.serves() && !member.corrupt {
        return None;
    }
    let next = context
        .observed
        .voters()
        .filter(|other| other.ordinal != member.ordinal && other.serves())
        .max_by_key(|other| {
            let current =
                other.stateful_set.as_ref().is_some_and(|set| set.template_hash == context.template_hash);
            (current, other.answer().map_or(0, |answer| answer.applied_index))
        })?;
    Some(Next::Do(Intent::MoveLeader {
        from: member.name.clone(),
        to: next.name.clone(),
        to_id: next.listed.as_ref()?.id,
        why: why.to_owned(),
    }))
}
