//! The PodDisruptionBudget: how many members have to stay while nodes are drained.

use k8s_openapi::{
    api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};

use super::Cluster;

/// The budget, named like the cluster. Pods that are not ready may always be evicted.
pub fn budget(cluster: &Cluster, min_available: i32) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: cluster.metadata(cluster.name()),
        spec: Some(PodDisruptionBudgetSpec {
            min_available: Some(IntOrString::Int(min_available)),
            selector: Some(LabelSelector {
                match_labels: Some(cluster.labels.selector()),
                ..LabelSelector::default()
            }),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}
