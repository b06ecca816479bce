//! What the overlay may not touch is put back, even if the checks let something through.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Capabilities, Container, EnvVar, PodSpec, PodTemplateSpec, SecurityContext, Volume, VolumeMount,
};

use crate::build::security;

/// `merged` with everything from `base` that is the operator's.
pub(super) fn restore(base: PodTemplateSpec, merged: PodTemplateSpec) -> PodTemplateSpec {
    let mut metadata = base.metadata.unwrap_or_default();
    let theirs = merged.metadata.unwrap_or_default();
    metadata.labels = strings(metadata.labels, theirs.labels);
    metadata.annotations = strings(metadata.annotations, theirs.annotations);
    let spec = pod(base.spec.unwrap_or_default(), merged.spec.unwrap_or_default());
    PodTemplateSpec { metadata: Some(metadata), spec: Some(spec) }
}

type Strings = BTreeMap<String, String>;

fn strings(ours: Option<Strings>, theirs: Option<Strings>) -> Option<Strings> {
    let mut all = theirs.unwrap_or_default();
    all.extend(ours.unwrap_or_default());
    (!all.is_empty()).then_some(all)
}

fn pod(base: PodSpec, merged: PodSpec) -> PodSpec {
    let mut security_context = merged.security_context;
    if let Some(context) = security_context.as_mut() {
        context.run_as_non_root = Some(true);
    }
    PodSpec {
        affinity: merged.affinity,
        containers: containers(&base.containers, merged.containers),
        dns_config: merged.dns_config,
        dns_policy: merged.dns_policy,
        host_aliases: merged.host_aliases,
        image_pull_secrets: merged.image_pull_secrets,
        init_containers: Some(init_containers(
            base.init_containers.clone().unwrap_or_default(),
            merged.init_containers.unwrap_or_default(),
        ))
        .filter(|containers| !containers.is_empty()),
        node_selector: merged.node_selector,
        priority_class_name: merged.priority_class_name,
        runtime_class_name: merged.runtime_class_name,
        scheduler_name: merged.scheduler_name,
        security_context,
        service_account_name: merged.service_account_name,
        termination_grace_period_seconds: merged.termination_grace_period_seconds,
        tolerations: merged.tolerations,
        topology_spread_constraints: merged.topology_spread_constraints,
        volumes: volumes(base.volumes.clone(), merged.volumes),
        ..base
    }
}

fn containers(base: &[Container], merged: Vec<Container>) -> Vec<Container> {
    let all = merged.into_iter().map(|theirs| match base.iter().find(|ours| ours.name == theirs.name) {
        Some(ours) => own_container(ours.clone(), theirs),
        None => sidecar(theirs),
    });
    all.collect()
}

fn init_containers(base: Vec<Container>, merged: Vec<Container>) -> Vec<Container> {
    let extra: Vec<_> =
        merged.into_iter().filter(|theirs| base.iter().all(|ours| ours.name != theirs.name)).collect();
    base.into_iter().chain(extra.into_iter().map(sidecar)).collect()
}

fn volumes(base: Option<Vec<Volume>>, merged: Option<Vec<Volume>>) -> Option<Vec<Volume>> {
    let mut all = base.unwrap_or_default();
    for theirs in merged.unwrap_or_default() {
        if all.iter().all(|have| have.name != theirs.name) {
            all.push(theirs);
        }
    }
    (!all.is_empty()).then_some(all)
}

/// Our container with their resources, and what they added to its environment and mounts.
fn own_container(ours: Container, theirs: Container) -> Container {
    let mut env: Vec<EnvVar> = ours.env.clone().unwrap_or_default();
    for variable in theirs.env.unwrap_or_default() {
        if env.iter().all(|have| have.name != variable.name) {
            env.push(variable);
        }
    }
    let mut mounts: Vec<VolumeMount> = ours.volume_mounts.clone().unwrap_or_default();
    for mount in theirs.volume_mounts.unwrap_or_default() {
        if mounts.iter().all(|have| have.mount_path != mount.mount_path) {
            mounts.push(mount);
        }
    }
    Container {
        env: (!env.is_empty()).then_some(env),
        volume_mounts: (!mounts.is_empty()).then_some(mounts),
        resources: theirs.resources,
        ..ours
    }
}

/// Their container, with what Pod Security demands where they said nothing.
fn sidecar(theirs: Container) -> Container {
    let defaults = security::sidecar();
    let have = theirs.security_context.unwrap_or_default();
    let capabilities = have.capabilities.unwrap_or_default();
    let drop = capabilities.drop.or_else(|| defaults.capabilities.and_then(|default| default.drop));
    let security_context = SecurityContext {
        allow_privilege_escalation: have.allow_privilege_escalation.or(defaults.allow_privilege_escalation),
        capabilities: Some(Capabilities { drop, ..capabilities }),
        ..have
    };
    Container { security_context: Some(security_context), ..theirs }
}
