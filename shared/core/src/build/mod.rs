//! Builders of Kubernetes objects. Every object is deterministic: the same input, the same bytes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::label::{self, ClusterLabels};

pub mod claim;
pub mod config_map;
pub mod container;
pub mod disruption_budget;
pub mod member;
pub mod network_policy;
pub mod pod;
pub mod secret;
pub mod security;
pub mod service;

/// What all objects of one cluster have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Labels and selectors.
    pub labels: ClusterLabels,
    /// Namespace of the resource and of everything it owns.
    pub namespace: String,
    /// Reference to the resource.
    pub owner: OwnerReference,
    /// The Kubernetes cluster's DNS domain, for instance `cluster.local`.
    pub domain: String,
}

impl Cluster {
    /// The resource's name.
    pub fn name(&self) -> &str {
        &self.labels.instance
    }

    /// Metadata of an object that the cluster owns: name, namespace, labels and owner.
    pub fn metadata(&self, name: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(self.namespace.clone()),
            labels: Some(self.labels.object()),
            owner_references: Some(vec![self.owner.clone()]),
            ..ObjectMeta::default()
        }
    }

    /// The same for an object that belongs to one member.
    pub fn member_metadata(&self, name: &str, member: &str) -> ObjectMeta {
        labelled(self.metadata(name), label::MEMBER, member)
    }

    /// Name of the headless Service that gives the pods their names.
    pub fn nodes_service(&self) -> String {
        format!("{}-nodes", self.name())
    }

    /// DNS name of a member's pod.
    pub fn host(&self, member: &str) -> String {
        format!("{member}-0.{}.{}.svc.{}", self.nodes_service(), self.namespace, self.domain)
    }
}

/// Reference to the resource of this kind, name and uid that owns an object.
pub fn owner<K: kube::Resource<DynamicType = ()>>(name: &str, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
        controller: Some(true),
        // Where a plug-in enforces it, setting this needs rights on finalizers, of which we have none.
        block_owner_deletion: None,
    }
}

/// Adds one label.
fn labelled(mut metadata: ObjectMeta, key: &str, value: &str) -> ObjectMeta {
    metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    metadata
}

#[cfg(test)]
mod restricted_tests;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
