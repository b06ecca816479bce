//! What a kubelet and a scheduler read in a pod.

use k8s_openapi::api::core::v1::{Container, Pod};

const ZONE_KEY: &str = "topology.kubernetes.io/zone";

/// The container of the application: the first.
pub fn main_container(pod: &Pod) -> Option<&Container> {
    pod.spec.as_ref()?.containers.first()
}

/// ConfigMaps that a pod mounts, and whether they may be missing.
pub fn config_maps(pod: &Pod) -> Vec<(String, bool)> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes
        .filter_map(|volume| volume.config_map.as_ref())
        .map(|source| (source.name.clone(), source.optional == Some(true)))
        .collect()
}

/// Name of the claim that a pod mounts.
pub fn claim_of(pod: &Pod) -> Option<String> {
    let volumes = pod.spec.as_ref()?.volumes.as_ref()?;
    volumes.iter().find_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name.clone()))
}

/// Whether a node was found for it.
pub fn scheduled(pod: &Pod) -> bool {
    node_of(pod).is_some()
}

/// The schedulers that there are: Kubernetes' own, and one more.
const SCHEDULERS: [&str; 2] = ["default-scheduler", "second-scheduler"];

/// Whether the scheduler that it names is there: no other one looks at it.
pub fn has_scheduler(pod: &Pod) -> bool {
    let scheduler = pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref());
    scheduler.is_none_or(|name| SCHEDULERS.contains(&name))
}

/// The node that it was given.
pub fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// Zones that a pod requires one of; empty: any.
pub fn required_zones(pod: &Pod) -> Vec<String> {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()?.node_affinity.as_ref());
    let required = affinity
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref())
        .map_or(&[][..], |required| required.node_selector_terms.as_slice());
    required
        .iter()
        .flat_map(|term| term.match_expressions.iter().flatten())
        .filter(|expression| expression.key == ZONE_KEY)
        .flat_map(|expression| expression.values.iter().flatten().cloned())
        .collect()
}
