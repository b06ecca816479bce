//! Harmless applies: what must exist and look as it should, and what nothing needs any more.

use ballast_core::{
    build::config_map,
    object::{Kind, Object, ObjectRef},
    plan::Plan,
    quantity,
};

use super::Context;
use crate::{
    build::{self, Place},
    intent::Intent,
    observed::Member,
    validate::Storage,
};

pub(crate) fn apply(context: &Context<'_>, started: bool, plan: &mut Plan<Intent>) {
    let desired = context.desired;
    plan.apply.push(build::nodes_service(desired).into());
    plan.apply.push(build::config_map(desired).into());
    plan.apply.extend(build::network_policy(desired).map(Object::from));
    if started {
        plan.apply.push(build::client_service(desired).into());
        plan.apply.push(build::binding_secret(desired).into());
        if let Some(list) = context.observed.answers.list.as_ref().filter(|_| desired.budget) {
            let voters = list.iter().filter(|listed| !listed.learner).count();
            plan.apply.push(build::disruption_budget(desired, voters).into());
        }
    }
    for member in &context.observed.members {
        plan.apply.extend(grown_claim(context, member));
    }
    for member in &context.observed.members {
        plan.apply.extend(stateful_set(context, started, member));
    }
}

/// The claim with its new size, if it has to grow; a claim never shrinks.
fn grown_claim(context: &Context<'_>, member: &Member) -> Option<Object> {
    let Storage::Volume { size, owned, class } = &context.desired.storage else { return None };
    let claim = member.claim()?;
    let bytes = |text: &str| quantity::parse(text).ok().map(ballast_core::quantity::Amount::bytes);
    let larger = claim.requested.as_deref().is_none_or(|have| bytes(have) < bytes(size));
    let size = if larger { size.clone() } else { claim.requested.clone()? };
    let built = build::claim(
        &crate::validate::Desired {
            storage: Storage::Volume { size, class: class.clone(), owned: *owned },
            ..context.desired.clone()
        },
        &Place {
            ordinal: member.ordinal,
            claim: Some(claim.reference.name.clone()),
            zone: claim.zone.clone(),
            adopted_from: None,
        },
    )?;
    (!claim.deleting).then(|| built.into())
}

/// The StatefulSet, if it may be applied now: it already has the wanted template, or it is missing and its member exists.
fn stateful_set(context: &Context<'_>, started: bool, member: &Member) -> Option<Object> {
    let ephemeral = matches!(context.desired.storage, Storage::Ephemeral { .. });
    let claim = match &member.stateful_set {
        Some(set) if set.deleting || set.template_hash != context.template_hash => return None,
        Some(set) => set.claim.clone(),
        None => {
            let claim = member.claims.iter().find(|claim| !claim.deleting);
            // Without etcd's list a volume is proof enough: a member with data starts, and the guard refuses one without.
            let unlisted = started
                && context.observed.answers.list.is_none()
                && claim.is_some_and(|claim| claim.phase == "Bound");
            let exists = member.started() || adopting(context) || unlisted;
            if !exists
                || member.pod.as_ref().is_some_and(|pod| pod.deletion_due.is_some())
                || (!ephemeral && claim.is_none())
            {
                return None;
            }
            claim.map(|claim| claim.reference.name.clone())
        }
    };
    let place = Place {
        ordinal: member.ordinal,
        zone: build::zone(&context.observed.children, member),
        adopted_from: claim.as_deref().and_then(|claim| adopted_from(context, claim)),
        claim,
    };
    Some(build::stateful_set(context.desired, &place).into())
}

fn adopted_from(context: &Context<'_>, claim: &str) -> Option<String> {
    build::adopted_from(&context.observed.children, claim)
}

fn adopting(context: &Context<'_>) -> bool {
    matches!(
        context.observed.record.as_ref().ok().and_then(Option::as_ref).map(|found| &found.record),
        Some(ballast_core::bootstrap::Record::Adopted { .. })
    )
}

/// Configuration files that no template and no pod names any more, a budget and a NetworkPolicy that are no
/// longer wanted.
pub(crate) fn prune(context: &Context<'_>, plan: &mut Plan<Intent>) {
    let children = &context.observed.children;
    let wanted: Vec<String> = build::config_map(context.desired).metadata.name.into_iter().collect();
    let configs = config_map::unused(children, &wanted).into_iter();
    let configs = configs.map(|metadata| (Kind::ConfigMap, metadata));
    let budgets = children.disruption_budgets.iter().filter(|_| !context.desired.budget);
    let budgets = budgets.map(|budget| (Kind::PodDisruptionBudget, &budget.metadata));
    let policies = children.network_policies.iter().filter(|_| context.desired.clients_from.is_none());
    let policies = policies.map(|policy| (Kind::NetworkPolicy, &policy.metadata));
    let unwanted = configs.chain(budgets).chain(policies);
    let uid = &context.desired.cluster.labels.uid;
    plan.prune.extend(unwanted.filter_map(|(kind, metadata)| ObjectRef::owned(kind, metadata, uid)));
}
