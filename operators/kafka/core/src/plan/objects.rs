//! Harmless applies: what must exist and look as it should, and what nothing needs any more.

use ballast_core::{
    build::config_map,
    label,
    object::{Kind, Object, ObjectRef, by_name},
    plan::Plan,
    quantity,
};

use super::Context;
use crate::{
    build::{self, Place},
    departing,
    intent::Intent,
    observed::Node,
    validate::Pool,
};

pub(super) fn apply(context: &Context<'_>, started: bool, plan: &mut Plan<Intent>) {
    let desired = context.desired;
    plan.apply.push(build::nodes_service(desired).into());
    plan.apply.push(build::controllers_service(desired).into());
    plan.apply.extend(desired.wanted_pools().map(|pool| Object::from(build::config_map(desired, pool))));
    if started {
        plan.apply.push(build::client_service(desired).into());
        plan.apply.push(build::binding_secret(desired).into());
        if desired.budget {
            plan.apply.push(build::disruption_budget(desired).into());
        }
    }
    let nodes = || context.observed.nodes.iter().filter_map(|node| Some((node, context.pool(node)?)));
    plan.apply.extend(nodes().filter_map(|(node, pool)| claim(context, node, pool)));
    plan.apply.extend(nodes().filter_map(|(node, pool)| stateful_set(context, node, pool, started)));
}

/// The claim with its new size, if it has to grow; a claim never shrinks.
fn claim(context: &Context<'_>, node: &Node, pool: &Pool) -> Option<Object> {
    let claim = node.claim().filter(|claim| !claim.deleting && !pool.departing)?;
    let bytes = |text: &str| quantity::parse(text).ok().map(quantity::Amount::bytes);
    let larger = claim.requested.as_deref().is_none_or(|have| bytes(have) < bytes(&pool.size));
    let size = if larger { pool.size.clone() } else { claim.requested.clone()? };
    let place = Place { id: node.id, claim: claim.reference.name.clone(), zone: claim.zone.clone() };
    Some(build::claim(context.desired, &Pool { size, ..pool.clone() }, &place).into())
}

/// The StatefulSet, if it may be applied now: it already has the wanted template, or it is missing and the node's data is
/// there, so that the guard decides about the start.
fn stateful_set(context: &Context<'_>, node: &Node, pool: &Pool, started: bool) -> Option<Object> {
    let parked = node.stateful_set.as_ref().is_some_and(|set| set.parked);
    // Who was stopped since it is empty stays so, unless a replica was put there after all.
    if parked && node.leaves() && !context.holds_replicas(node) {
        return None;
    }
    if pool.departing {
        let live = by_name(&context.observed.children.stateful_sets, &node.name)?;
        return parked.then(|| departing::scaled(live, 1).into());
    }
    let claim = match &node.stateful_set {
        Some(set) if set.deleting => return None,
        Some(_) if context.outdated_set(node) && !parked => return None,
        Some(set) => set.claim.clone()?,
        None => {
            let claim = node.live_claims().find(|claim| claim.phase == "Bound")?;
            if !started || !node.wanted || node.ticket.is_some() || node.stops() {
                return None;
            }
            claim.reference.name.clone()
        }
    };
    let place = Place { id: node.id, claim, zone: zone(context, node) };
    Some(build::stateful_set(context.desired, pool, &place).into())
}

/// Where a node is.
pub(super) fn place(context: &Context<'_>, node: &Node) -> Option<Place> {
    let claim = node.stateful_set.as_ref()?.claim.clone()?;
    Some(Place { id: node.id, claim, zone: zone(context, node) })
}

/// The zone that a node has: of its claim, else the label on its StatefulSet.
pub(super) fn zone(context: &Context<'_>, node: &Node) -> Option<String> {
    node.zone().map(str::to_owned).or_else(|| {
        let set = by_name(&context.observed.children.stateful_sets, &node.name)?;
        set.metadata.labels.as_ref()?.get(label::ZONE).cloned()
    })
}

/// Configuration files that no template and no pod names any more, and a budget that is no longer wanted.
pub(super) fn prune(context: &Context<'_>, plan: &mut Plan<Intent>) {
    let children = &context.observed.children;
    let wanted = |pool: &Pool| build::config_map(context.desired, pool).metadata.name;
    let wanted: Vec<String> = context.desired.wanted_pools().filter_map(wanted).collect();
    let configs = config_map::unused(children, &wanted).into_iter();
    let configs = configs.map(|metadata| (Kind::ConfigMap, metadata));
    let budgets = children.disruption_budgets.iter().filter(|_| !context.desired.budget);
    let budgets = budgets.map(|budget| (Kind::PodDisruptionBudget, &budget.metadata));
    let uid = &context.desired.cluster.labels.uid;
    let unwanted = configs.chain(budgets);
    plan.prune.extend(unwanted.filter_map(|(kind, metadata)| ObjectRef::owned(kind, metadata, uid)));
}
