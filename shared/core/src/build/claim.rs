//! PersistentVolumeClaims: made by the operator, so that a lost one is never replaced by an empty one.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements},
    apimachinery::pkg::api::resource::Quantity,
};

use super::{Cluster, labelled};
use crate::label;

/// A member's claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimSpec {
    /// Name, unique for ever: it carries a uid or a hash.
    pub name: String,
    /// The member that it is for.
    pub member: String,
    /// The member's zone, as a label.
    pub zone: Option<String>,
    /// Size, a quantity in bytes (`10Gi`).
    pub size: String,
    /// Storage class; `None` takes the cluster's default class.
    pub storage_class: Option<String>,
    /// Whether it is deleted together with the resource.
    pub owned: bool,
}

/// The claim; without owner unless `owned`, so that deleting the resource keeps the data.
pub fn claim(cluster: &Cluster, spec: &ClaimSpec) -> PersistentVolumeClaim {
    let mut metadata = cluster.member_metadata(&spec.name, &spec.member);
    if let Some(zone) = &spec.zone {
        metadata = labelled(metadata, label::ZONE, zone);
    }
    if !spec.owned {
        metadata.owner_references = None;
    }
    let requests = BTreeMap::from([("storage".to_owned(), Quantity(spec.size.clone()))]);
    PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            resources: Some(VolumeResourceRequirements { requests: Some(requests), limits: None }),
            storage_class_name: spec.storage_class.clone(),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    }
}
