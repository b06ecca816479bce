//! Pools that the specification no longer has, as what is left of them tells: their nodes are emptied and removed like any that
//! leaves. Their templates are not known any more, so their StatefulSets are never made anew, only scaled.

use std::{borrow::Cow, collections::BTreeMap};

use ballast_core::{
    label,
    object::{Children, by_name},
    view::claim_view,
};
use k8s_openapi::{api::apps::v1::StatefulSet, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde_json::Value;

use crate::{
    POOL_WIDTH,
    build::{BROKER_LABEL, CONTROLLER_LABEL},
    validate::{Desired, Pool},
};

impl Desired {
    /// With the pools that are gone from the specification and have nodes. A pool whose name or ids the specification gives to another
    /// one is not among them: nobody could tell whose a node is.
    pub fn with_departing(&self, children: &Children) -> Cow<'_, Self> {
        let pools = departing(self, children);
        if pools.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut all = self.clone();
        all.pools.extend(pools);
        Cow::Owned(all)
    }

    /// Pools that the specification has.
    pub fn wanted_pools(&self) -> impl Iterator<Item = &Pool> {
        self.pools.iter().filter(|pool| !pool.departing)
    }
}

fn departing(desired: &Desired, children: &Children) -> Vec<Pool> {
    let mut found: BTreeMap<(String, i32), Pool> = BTreeMap::new();
    for member in members(desired, children) {
        let Some((name, id)) = split(desired, &member) else { continue };
        let start = id - id.rem_euclid(POOL_WIDTH);
        if desired.pools.iter().any(|pool| pool.name == name || pool.start == start) {
            continue;
        }
        let pool = found.entry((name.to_owned(), start)).or_insert_with(|| Pool::departing(name, start));
        let labels = labels(children, &member);
        let has = |(key, value): (&str, &str)| {
            labels.iter().any(|labels| labels.get(key).is_some_and(|have| have == value))
        };
        pool.broker |= has(BROKER_LABEL);
        pool.controller |= has(CONTROLLER_LABEL);
    }
    let mut pools: Vec<Pool> = found.into_values().collect();
    let all = pools.clone();
    let same = |one: &Pool, other: &Pool| one.name == other.name || one.start == other.start;
    pools.retain(|pool| all.iter().filter(|other| same(pool, other)).count() == 1);
    pools
}

/// Of which nodes something is left; what they left behind when they were removed does not count.
fn members(desired: &Desired, children: &Children) -> Vec<String> {
    let uid = desired.cluster.labels.uid.as_str();
    let sets = children.stateful_sets.iter().filter_map(|set| set.metadata.name.clone());
    let pods = children.pods.iter().filter_map(|pod| label_of(&pod.metadata, label::MEMBER));
    let claims = children.claims.iter().filter_map(claim_view);
    let claims = claims.filter(|claim| claim.cluster_uid == uid && !claim.retired);
    sets.chain(pods).chain(claims.map(|claim| claim.member)).collect()
}

/// Pool and id in the name of a node.
fn split<'a>(desired: &Desired, member: &'a str) -> Option<(&'a str, i32)> {
    let rest = member.strip_prefix(desired.cluster.name())?.strip_prefix('-')?;
    let (pool, id) = rest.rsplit_once('-')?;
    let number: i32 = id.parse().ok().filter(|number| *number >= 0)?;
    (!pool.is_empty() && number.to_string() == id).then_some((pool, number))
}

fn label_of(metadata: &ObjectMeta, key: &str) -> Option<String> {
    metadata.labels.as_ref()?.get(key).cloned()
}

/// Labels of a node's pods, as its StatefulSet and its pod have them.
fn labels<'a>(children: &'a Children, member: &str) -> Vec<&'a BTreeMap<String, String>> {
    let template = by_name(&children.stateful_sets, member)
        .and_then(|set| set.spec.as_ref()?.template.metadata.as_ref()?.labels.as_ref());
    let pod = by_name(&children.pods, &format!("{member}-0")).and_then(|pod| pod.metadata.labels.as_ref());
    template.into_iter().chain(pod).collect()
}

impl Pool {
    /// One of which only name and ids are known. Whether its volumes were to be deleted is not: they stay.
    fn departing(name: &str, start: i32) -> Self {
        Self {
            name: name.to_owned(),
            departing: true,
            controller: false,
            broker: false,
            replicas: 0,
            start,
            without: vec![],
            size: String::new(),
            class: None,
            owned: false,
            retain: true,
            heap: 0,
            options: vec![],
            overlay: None,
            resources: Value::Null,
            grace_seconds: 0,
        }
    }
}

/// A StatefulSet as it is, with so many pods.
pub(crate) fn scaled(live: &StatefulSet, replicas: i32) -> StatefulSet {
    let metadata = &live.metadata;
    let mut spec = live.spec.clone();
    if let Some(spec) = &mut spec {
        spec.replicas = Some(replicas);
    }
    StatefulSet {
        metadata: ObjectMeta {
            name: metadata.name.clone(),
            namespace: metadata.namespace.clone(),
            labels: metadata.labels.clone(),
            annotations: metadata.annotations.clone(),
            owner_references: metadata.owner_references.clone(),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    }
}
